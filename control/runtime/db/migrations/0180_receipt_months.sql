-- Receipts lie in partitions by month, so that indexes stay small and old months can be put away. Request ids sort by time,
-- so a month is a range of ids, in which each partition finds duplicates by itself.

-- What the ids of requests that arrive at a moment begin with.
CREATE FUNCTION request_id_at(moment timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ms bigint := (extract(epoch FROM moment) * 1000)::bigint;
  digits text := '';
BEGIN
  FOR place IN 1..10 LOOP
    digits := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms % 32)::integer + 1, 1) || digits;
    ms := ms / 32;
  END LOOP;
  RETURN 'req_' || digits;
END
$$;

-- Months that have a partition: which ids it has, from the first up to but without the last.
CREATE TABLE receipt_months (
  month text COLLATE "C" PRIMARY KEY,
  partition text NOT NULL,
  from_id text COLLATE "C" NOT NULL,
  until_id text COLLATE "C" NOT NULL UNIQUE
);

-- Months that were put away, and the file in which each of them is.
CREATE TABLE receipt_archives (
  month text COLLATE "C" PRIMARY KEY,
  from_id text COLLATE "C" NOT NULL,
  until_id text COLLATE "C" NOT NULL UNIQUE,
  file text NOT NULL,
  sha256 text NOT NULL,
  receipts bigint NOT NULL,
  charge_units bigint NOT NULL,
  archived_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER receipt_archives_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipt_archives
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Makes the partition of the month that a moment is in. False where the month has one, or was put away.
CREATE FUNCTION add_receipt_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first timestamp := date_trunc('month', moment AT TIME ZONE 'UTC');
  least text := request_id_at(first AT TIME ZONE 'UTC');
  beyond text := request_id_at((first + interval '1 month') AT TIME ZONE 'UTC');
  name text := 'receipts_' || to_char(first, 'YYYY_MM');
BEGIN
  -- The number is one of those in locks.ts.
  PERFORM pg_advisory_xact_lock(7204004);
  IF EXISTS (SELECT FROM receipt_months WHERE from_id < beyond AND until_id > least) OR
    EXISTS (SELECT FROM receipt_archives WHERE from_id < beyond AND until_id > least) THEN
    RETURN false;
  END IF;
  -- Made by itself and attached, which keeps nobody from reading or booking.
  EXECUTE format('CREATE TABLE %I (LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (log, position)', name || '_place_key', name);
  EXECUTE format('CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', name);
  EXECUTE format('ALTER TABLE receipts ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, least, beyond);
  INSERT INTO receipt_months (month, partition, from_id, until_id)
    VALUES (to_char(first, 'YYYY-MM'), name, least, beyond);
  RETURN true;
END
$$;

-- What there is becomes the first partition as it is, since copying would take long: all months up to this one, or without
-- this one where there are no receipts yet.
ALTER TABLE receipts RENAME TO receipts_first;
ALTER INDEX receipts_pkey RENAME TO receipts_first_pkey;
ALTER INDEX receipts_place_key RENAME TO receipts_first_place_key;
ALTER INDEX receipts_key RENAME TO receipts_first_key;
ALTER INDEX receipts_rated RENAME TO receipts_first_rated;
CREATE TABLE receipts (LIKE receipts_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (request_id))
  PARTITION BY RANGE (request_id);
CREATE INDEX receipts_key ON receipts (key_id, request_id);
CREATE INDEX receipts_rated ON receipts (log, position) WHERE rate = 'batch' OR tier = 'private' OR size <> '';
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What sorts behind all ids of requests has a place too, and no month.
CREATE TABLE receipts_rest (LIKE receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
CREATE UNIQUE INDEX receipts_rest_place_key ON receipts_rest (log, position);
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts_rest
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE receipts ATTACH PARTITION receipts_rest FOR VALUES FROM ('req_8') TO (MAXVALUE);

DO $$
DECLARE
  this_month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
  bound timestamp := this_month;
  early text;
  late timestamptz;
BEGIN
  IF EXISTS (SELECT FROM receipts_first) THEN
    bound := this_month + interval '1 month';
  END IF;
  early := request_id_at(bound AT TIME ZONE 'UTC');
  INSERT INTO receipt_months (month, partition, from_id, until_id)
    VALUES (to_char(bound - interval '1 day', 'YYYY-MM'), 'receipts_first', '', early);
  -- Ids of clocks that were ahead move to their own month.
  CREATE TEMPORARY TABLE ahead ON COMMIT DROP AS SELECT * FROM receipts_first WHERE request_id >= early;
  ALTER TABLE receipts_first DISABLE TRIGGER receipts_append_only;
  DELETE FROM receipts_first WHERE request_id >= early;
  ALTER TABLE receipts_first ENABLE TRIGGER receipts_append_only;
  EXECUTE format('ALTER TABLE receipts ATTACH PARTITION receipts_first FOR VALUES FROM (MINVALUE) TO (%L)', early);
  FOR late IN
    SELECT DISTINCT to_timestamp((
        SELECT sum((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(request_id, place + 4, 1)) - 1) * 32::numeric ^ (10 - place))
        FROM generate_series(1, 10) AS place
      )::float8 / 1000) FROM ahead WHERE request_id < 'req_8'
    UNION SELECT (this_month + make_interval(months => ahead)) AT TIME ZONE 'UTC' FROM generate_series(0, 2) AS ahead
  LOOP
    PERFORM add_receipt_month(late);
  END LOOP;
  INSERT INTO receipts SELECT * FROM ahead;
END
$$;

-- What the usage logs need of receipts that were put away: their leaf hashes, one after the other, at most those of one tile
-- of 256 in a row. The first of them is at `position`.
CREATE TABLE archived_leaves (
  month text COLLATE "C" NOT NULL,
  log smallint NOT NULL,
  position bigint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (log, position)
);
