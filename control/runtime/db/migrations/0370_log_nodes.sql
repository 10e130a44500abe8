-- Roots of the complete subtrees of 16, 4,096 and 1,048,576 leaves, too: a proof reads up to 16 nodes of a height instead of
-- 256. Those of 16 begin with the receipts that are booked from now on; older proofs read the leaves.
ALTER TABLE usage_log_nodes DROP CONSTRAINT usage_log_nodes_level_check;
ALTER TABLE usage_log_nodes ADD CONSTRAINT usage_log_nodes_level_check CHECK (level IN (4, 8, 12, 16, 20, 24));

-- Each step combines the pairs of a level, as RFC 6962 hashes inner nodes.
WITH RECURSIVE subtrees AS (
  SELECT log, level::integer, index, hash FROM usage_log_nodes WHERE level IN (8, 16)
  UNION ALL
  SELECT log, level + 1, index / 2, sha256('\x01'::bytea || hash || next)
  FROM (
    SELECT log, level, index, hash, lead(hash) OVER (PARTITION BY log, level ORDER BY index) AS next
    FROM subtrees WHERE level NOT IN (12, 20)
  ) AS pairs
  WHERE index % 2 = 0 AND next IS NOT NULL
)
INSERT INTO usage_log_nodes (log, level, index, hash)
SELECT log, level, index, hash FROM subtrees WHERE level IN (12, 20);
