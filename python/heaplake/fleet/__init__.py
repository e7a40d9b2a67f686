"""Many snapshots on a cluster: Ray maps them into a lake, Spark reduces the lake.

- `python -m heaplake.fleet analyze`, or `heaplake fleet analyze`: one task of Ray for each snapshot
- `heaplake.fleet.spark`: views over a lake and rollups in PySpark

Neither Ray nor PySpark is imported before it is used: `pip install 'heaplake[ray]'` or `'heaplake[spark]'` brings them.
"""
