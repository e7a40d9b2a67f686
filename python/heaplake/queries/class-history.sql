-- One class in every run, in the order in which the runs were captured
-- $class text: Name of the class
SELECT captured_at, release, snapshot, class_key, count, shallow_bytes, retained_bytes
FROM classes
WHERE class = $class
ORDER BY captured_at NULLS LAST, release, snapshot, class_key
