-- What is coin is kept in coin: integers of 1e-9 coin (nanos). Everything else stays in units of 1e-9 USD.

-- What the balance of an account counts: nanos of coin, or units of USD. What strangers pay for single requests is USD from
-- the moment it is credited, whatever they pay it with.
ALTER TABLE ledger_accounts ADD COLUMN currency text NOT NULL DEFAULT 'usd' CHECK (currency IN ('usd', 'coin'));
ALTER TABLE ledger_accounts DISABLE TRIGGER ledger_accounts_moved;
UPDATE ledger_accounts SET currency = 'coin' WHERE kind = 'coin' AND owner NOT LIKE 'payer\_%';
ALTER TABLE ledger_accounts ENABLE TRIGGER ledger_accounts_moved;
ALTER TABLE ledger_accounts ADD CONSTRAINT customers_have_coin
  CHECK (kind <> 'coin' OR currency = CASE WHEN owner LIKE 'payer\_%' THEN 'usd' ELSE 'coin' END);

-- Coin that waits: of links, and of withdrawals that are not sent.
INSERT INTO ledger_accounts (id, kind, currency) VALUES ('escrow_coin', 'system', 'coin');

-- By how much a transfer changes accounts of coin; null is as many nanos as units. What coin was worth rounds down, so it
-- may be no unit.
ALTER TABLE transfers ADD COLUMN coin_nanos bigint CHECK (coin_nanos >= 0);
ALTER TABLE transfers DROP CONSTRAINT transfers_units_check;
ALTER TABLE transfers ADD CONSTRAINT transfers_units_check CHECK (units > 0 OR (units = 0 AND coin_nanos > 0));

-- Where one side of a transfer is coin and the other is USD, the account `exchange` stands between them, which exists only
-- here: what it has of coin is what the gateway owes, and what it has of USD is what was taken and given for it.
DROP VIEW postings;
CREATE VIEW postings AS
  SELECT t.id AS transfer_id, t.ref, t.kind, side.account, side.currency, side.amount, t.at
  FROM transfers t
  LEFT JOIN ledger_accounts d ON d.id = t.debit
  LEFT JOIN ledger_accounts c ON c.id = t.credit
  CROSS JOIN LATERAL (
    SELECT coalesce(d.currency, 'usd') AS debited, coalesce(c.currency, 'usd') AS credited,
      coalesce(t.coin_nanos, t.units) AS nanos
  ) AS both_sides
  CROSS JOIN LATERAL (
    SELECT t.debit AS account, debited AS currency, CASE debited WHEN 'coin' THEN -nanos ELSE -t.units END AS amount
    UNION ALL
    SELECT t.credit, credited, CASE credited WHEN 'coin' THEN nanos ELSE t.units END
    UNION ALL
    SELECT 'exchange', 'coin', CASE debited WHEN 'coin' THEN nanos ELSE -nanos END WHERE debited <> credited
    UNION ALL
    SELECT 'exchange', 'usd', CASE debited WHEN 'usd' THEN t.units ELSE -t.units END WHERE debited <> credited
  ) AS side;

CREATE OR REPLACE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched text[];
  moved integer;
BEGIN
  -- Always locked in the same order: two postings never wait for each other in a circle.
  SELECT array_agg(id ORDER BY id) INTO touched
    FROM (SELECT debit AS id FROM new_transfers UNION SELECT credit FROM new_transfers) AS both_sides;
  PERFORM 1 FROM ledger_accounts WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE;
  UPDATE ledger_accounts AS a SET balance = a.balance + CASE a.currency WHEN 'coin' THEN d.nanos ELSE d.units END
    FROM (
      SELECT side.id, sum(side.units)::bigint AS units, sum(side.nanos)::bigint AS nanos
        FROM (
          SELECT debit AS id, -units AS units, -coalesce(coin_nanos, units) AS nanos FROM new_transfers
          UNION ALL
          SELECT credit, units, coalesce(coin_nanos, units) FROM new_transfers
        ) AS side
        GROUP BY side.id
    ) AS d
    WHERE a.id = d.id;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved <> coalesce(cardinality(touched), 0) THEN
    RAISE EXCEPTION 'a transfer names an account that is not in ledger_accounts'
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  RETURN NULL;
END
$$;

-- The coin of each; its units are what that was worth when it was moved.
ALTER TABLE links ADD COLUMN coin_nanos bigint CHECK (coin_nanos > 0);
ALTER TABLE withdrawals ADD COLUMN coin_nanos bigint CHECK (coin_nanos > 0);
ALTER TABLE deposits ADD COLUMN coin_nanos bigint CHECK (coin_nanos > 0);
-- What a referral was paid, in coin.
ALTER TABLE referrals ADD COLUMN earned_nanos bigint NOT NULL DEFAULT 0;

-- What was kept in units until now is converted at the price in force: the same coin as was shown. At one USD a coin no
-- number changes.
DO $$
DECLARE
  price numeric := coalesce((SELECT (sheet::jsonb #>> '{coin,usd}')::numeric FROM price_sheets ORDER BY version DESC LIMIT 1), 1);
BEGIN
  -- What proxies have in hand and what waits in Redis was reckoned in units, which cannot be told there.
  IF price <> 1 AND (
    EXISTS (SELECT FROM proxy_owners WHERE seen_at > now() - interval '1 minute') OR EXISTS (SELECT FROM batch_jobs WHERE ended_at_ms IS NULL)
  ) THEN
    RAISE EXCEPTION 'coin is kept in coin from now on, and a coin is not 1 USD: stop the proxies with the version before, let '
      'its control end all batch jobs and book everything, and then start this version';
  END IF;

  UPDATE links SET coin_nanos = greatest(div(units * 1000000000::numeric, price * 1000000000), 1);
  UPDATE withdrawals SET coin_nanos = greatest(div(units * 1000000000::numeric, price * 1000000000), 1);
  UPDATE deposits SET coin_nanos = greatest(div(units * 1000000000::numeric, price * 1000000000), 1);

  UPDATE referrals SET earned_nanos = div(earned_units * 1000000000::numeric, price * 1000000000);

  -- What links and withdrawals have in escrow, of which only they have any by their own names.
  INSERT INTO transfers (kind, ref, debit, credit, units, coin_nanos)
  SELECT 'denomination', id, 'escrow', 'escrow_coin', units, coin_nanos FROM links WHERE status = 'open'
  UNION ALL
  SELECT 'denomination', id, 'escrow', 'escrow_coin', units, coin_nanos FROM withdrawals WHERE state = 'sending';

  INSERT INTO transfers (kind, ref, debit, credit, units, coin_nanos)
  SELECT 'denomination', id, CASE WHEN nanos < balance THEN id ELSE 'house' END,
    CASE WHEN nanos < balance THEN 'house' ELSE id END, 0, abs(nanos - balance)
  FROM (
    SELECT id, balance, div(balance * 1000000000::numeric, price * 1000000000)::bigint AS nanos FROM ledger_accounts
    WHERE kind = 'coin' AND currency = 'coin'
  ) AS account
  WHERE nanos <> balance;

  UPDATE admission_events e SET coin_delta = div(coin_delta * 1000000000::numeric, price * 1000000000) FROM ledger_accounts a
  WHERE a.id = 'coin:' || e.account_id AND a.currency = 'coin' AND price <> 1;

  IF price <> 1 THEN
    INSERT INTO admission_dirty (shard, reason) SELECT shard, 'coin is kept in coin' FROM generate_series(0, 63) AS shard
    ON CONFLICT DO NOTHING;
  END IF;
END
$$;

ALTER TABLE links ALTER COLUMN coin_nanos SET NOT NULL;
ALTER TABLE withdrawals ALTER COLUMN coin_nanos SET NOT NULL;
ALTER TABLE deposits ALTER COLUMN coin_nanos SET NOT NULL;
