"""Parts of the case ``training-loop``: a training program of one's own, and the rules it may follow."""
