"""The rules of sites read a third time, from the raw fields of an instance."""


def keeps_rules(instance, plan):
    """Whether a plan keeps the rules of its sites, read from the raw fields."""
    homes = {item.name: item.clusters for item in instance.datasets}
    room = {item.name: item.memory for item in instance.clusters}
    need = {item.name: item.memory for item in instance.models}
    for row in plan.data:
        for name in row.datasets:
            if homes[name] is not None and row.cluster not in homes[name]:
                return False
    for epoch in plan.epochs:
        has, asks = room[epoch.cluster], need[epoch.model]
        if has is not None and asks is not None and asks > has:
            return False
    last = plan.epochs[-1].model if plan.epochs else instance.target.initial_model
    return instance.target.deployable is None or last in instance.target.deployable
