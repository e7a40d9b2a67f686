"""The five analyses in DuckDB: prints their rows as JSON."""

import json

import duckdb

from queries import QUERIES, told


def answer(query):
    tables = ["classes", "owners", "chains", "duplicate_sets"]
    path = "read_parquet('lake/*/*/{}.parquet', hive_partitioning = false)"
    return duckdb.sql(query.format_map({name: path.format(name) for name in tables})).fetchall()


print(json.dumps({analysis: told(analysis, answer(query)) for analysis, query in QUERIES.items()}))
