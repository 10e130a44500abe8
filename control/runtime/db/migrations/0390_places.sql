-- A posting finds each account once: it locks the rows in the order of their ids, as before, and updates them by their places,
-- which do not change while they are locked.
CREATE OR REPLACE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched text[];
  moved_units bigint[];
  moved_nanos bigint[];
  places tid[];
  moved integer;
BEGIN
  SELECT array_agg(id ORDER BY id), array_agg(units ORDER BY id), array_agg(nanos ORDER BY id)
    INTO touched, moved_units, moved_nanos
    FROM (
      SELECT side.id, sum(side.units)::bigint AS units, sum(side.nanos)::bigint AS nanos
        FROM (
          SELECT debit AS id, -units AS units, -coalesce(coin_nanos, units) AS nanos FROM new_transfers
          UNION ALL
          SELECT credit, units, coalesce(coin_nanos, units) FROM new_transfers
        ) AS side
        GROUP BY side.id
    ) AS sums;
  -- Always locked in the same order: two postings never wait for each other in a circle.
  SELECT array_agg(place) INTO places
    FROM (SELECT ctid AS place FROM ledger_accounts WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE) AS locked;
  IF cardinality(places) IS DISTINCT FROM cardinality(touched) THEN
    RAISE EXCEPTION 'a transfer names an account that is not in ledger_accounts'
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  UPDATE ledger_accounts AS a SET balance = a.balance + CASE a.currency WHEN 'coin' THEN d.nanos ELSE d.units END
    FROM unnest(touched, places, moved_units, moved_nanos) AS d (id, place, units, nanos)
    WHERE a.ctid = d.place AND a.id = d.id;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved <> cardinality(touched) THEN
    RAISE EXCEPTION 'a transfer moved % of % balances', moved, cardinality(touched);
  END IF;
  RETURN NULL;
END
$$;

-- Updates stay on their page, where the next one removes their old versions. In full pages an account of a large book had dozens
-- of versions, which each read of it passed.
ALTER TABLE ledger_accounts SET (fillfactor = 50);
