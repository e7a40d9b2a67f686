"""Many snapshots on a Ray cluster: `heaplake fleet analyze` hands each to a task, which is the binary."""
