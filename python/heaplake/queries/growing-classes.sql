-- Classes by the growth of their median retained size from one release to another
-- $from text: Release to compare with
-- $to text: Release to look at
-- $limit integer 20: Rows
SELECT min(class) AS class,
       CAST(median(count) FILTER (WHERE release = $from) AS BIGINT) AS from_count,
       CAST(median(count) FILTER (WHERE release = $to) AS BIGINT) AS to_count,
       CAST(coalesce(median(retained_bytes) FILTER (WHERE release = $from), 0) AS BIGINT) AS from_retained_bytes,
       CAST(coalesce(median(retained_bytes) FILTER (WHERE release = $to), 0) AS BIGINT) AS to_retained_bytes,
       CAST(coalesce(median(retained_bytes) FILTER (WHERE release = $to), 0)
            - coalesce(median(retained_bytes) FILTER (WHERE release = $from), 0) AS BIGINT) AS growth_bytes,
       fingerprint
FROM classes
WHERE release IN ($from, $to)
GROUP BY fingerprint
ORDER BY growth_bytes DESC, fingerprint
LIMIT $limit
