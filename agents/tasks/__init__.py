"""Work that is spread over the processes of this machine or over a Ray cluster, with the same results."""
