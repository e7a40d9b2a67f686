-- The hosts with the most severe findings, over all their runs
-- $label text host: Label that tells hosts apart
-- $limit integer 20: Rows
SELECT map_extract(labels, $label)[1] AS host,
       count(*) AS runs,
       sum(high_findings) AS high_findings,
       sum(medium_findings) AS medium_findings,
       max(shallow_bytes) AS largest_heap_bytes,
       max(captured_at) AS last_seen
FROM runs
GROUP BY 1
ORDER BY high_findings DESC, medium_findings DESC, largest_heap_bytes DESC NULLS LAST, host
LIMIT $limit
