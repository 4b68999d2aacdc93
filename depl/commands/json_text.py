"""JSON on one line, as ``--json`` prints it."""

from typing import Any


def as_json(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON; what is not finite must be None already.

    Names of files need not be UTF-8, as JSON must be: bytes that are not are shown as escapes.
    """
    import msgspec

    try:
        return msgspec.json.encode(content).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(content)).decode()


def _encodable(content: Any) -> Any:
    if isinstance(content, str):
        return content.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(content, dict):
        return {_encodable(name): _encodable(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_encodable(item) for item in content]
    return content
