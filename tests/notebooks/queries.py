"""The five analyses in SQL, for engines that know it. A table's name stands in braces."""

QUERIES = {
    "top_classes": """
        SELECT class, sum(retained_bytes) AS retained_bytes, sum(count) AS count
        FROM {classes} GROUP BY class ORDER BY retained_bytes DESC, class LIMIT 10""",
    "growth": """
        WITH by_class AS (
            SELECT release, class, sum(retained_bytes) AS retained_bytes FROM {classes} GROUP BY release, class)
        SELECT new.class, new.retained_bytes - old.retained_bytes AS growth
        FROM by_class AS new JOIN by_class AS old ON new.class = old.class
        WHERE old.release = '1.4' AND new.release = '2024-01-01' ORDER BY growth, new.class""",
    "owner_shares": """
        SELECT release, owner, retained_bytes / sum(retained_bytes) OVER (PARTITION BY release) AS share
        FROM {owners} ORDER BY release, owner""",
    "chains": """
        SELECT release, text, count, retained_bytes
        FROM {chains} WHERE class = 'Array' AND kind = 'reference' ORDER BY release, chain""",
    "duplicates": """
        SELECT release, class, count(*) AS sets, sum(additional_bytes) AS bytes
        FROM {duplicate_sets} WHERE status = 'exact' AND held_by IS NULL
        GROUP BY release, class ORDER BY release, class""",
}


def told(analysis, rows):
    """The rows as all engines tell them: shares with six digits."""
    if analysis == "owner_shares":
        return [(release, owner, f"{share:.6f}") for release, owner, share in rows]
    return [list(row) for row in rows]
