"""The five analyses in Spark: prints their rows as JSON."""

import json

from pyspark.sql import SparkSession

from queries import QUERIES, told

options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()


def answer(query):
    tables = ["classes", "owners", "chains", "duplicate_sets"]
    for name in tables:
        spark.read.parquet(f"lake/*/*/{name}.parquet").createOrReplaceTempView(name)
    return spark.sql(query.format_map({name: name for name in tables})).collect()


print(json.dumps({analysis: told(analysis, answer(query)) for analysis, query in QUERIES.items()}))
