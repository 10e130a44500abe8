-- What sub-keys spend counts against the caps of their platform key. The counters in Redis know of it once they are loaded
-- from the book again.
INSERT INTO admission_dirty (shard, reason)
  SELECT DISTINCT u.shard, 'shared caps' FROM key_usage u JOIN api_keys k ON k.id = u.key_id
  WHERE k.platform_key_id IS NOT NULL
ON CONFLICT DO NOTHING;
