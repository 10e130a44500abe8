-- The keys of an account burn tokens from when it holds some until it holds none: their records say so. Its agents have
-- accounts of their own.
CREATE FUNCTION note_holding_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_changes (hash)
    SELECT hash FROM api_keys WHERE account_id = NEW.owner AND revoked_at IS NULL;
  RETURN NULL;
END $$;

CREATE TABLE lock_series (
  id text COLLATE "C" PRIMARY KEY,
  model text NOT NULL,
  -- YYYY-MM, UTC.
  month text COLLATE "C" NOT NULL CHECK (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- The first instant of the next month, milliseconds since 1970.
  ends_at_ms bigint NOT NULL,
  -- The provider of the catalog that serves what burns tokens.
  provider text NOT NULL,
  -- Units per whole token (a million tokens of the model).
  locked_price_units bigint NOT NULL CHECK (locked_price_units > 0 AND locked_price_units % 1000000 = 0),
  -- Prices of the token classes per million tokens, in the form of a price sheet.
  price jsonb NOT NULL,
  -- Tokens in integers of 1e-6 whole tokens.
  supply_micros bigint NOT NULL CHECK (supply_micros > 0),
  -- Of what takers trade, in millionths.
  taker_fee_ppm integer NOT NULL CHECK (taker_fee_ppm BETWEEN 0 AND 100000),
  -- Broken: it has ended before its month, and its holders are paid back. Ended: nothing is traded or served any more. Closed:
  -- nothing of it is left.
  state text NOT NULL CHECK (state IN ('open', 'broken', 'ended', 'closed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Why the catalog in force cannot serve it ('' where it can); then nothing of it is sold.
  unavailable text NOT NULL DEFAULT '',
  CHECK (supply_micros::numeric * (locked_price_units / 1000000) <= 9007199254740991)
);
CREATE INDEX lock_series_living ON lock_series (ends_at_ms) WHERE state <> 'closed';
CREATE INDEX lock_series_model ON lock_series (model, month);

CREATE TABLE lock_orders (
  id text COLLATE "C" PRIMARY KEY,
  -- Time priority: drawn while the row of the series is locked, so in the order of booking.
  place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  -- 'operator' for what the gateway itself offers.
  account_id text COLLATE "C" NOT NULL,
  side text NOT NULL CHECK (side IN ('buy', 'sell')),
  type text NOT NULL CHECK (type IN ('market', 'limit')),
  -- Nanos of coin per whole token; null for a market order.
  price_nanos bigint CHECK (price_nanos > 0),
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  filled_micros bigint NOT NULL DEFAULT 0,
  status text NOT NULL CHECK (status IN ('open', 'filled', 'cancelled', 'expired')),
  -- What is in escrow for the part that is not filled: nanos of coin of an open bid, micro-tokens of an open ask.
  escrow_nanos bigint NOT NULL DEFAULT 0 CHECK (escrow_nanos >= 0),
  escrow_micros bigint NOT NULL DEFAULT 0 CHECK (escrow_micros >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  CHECK ((type = 'limit') = (price_nanos IS NOT NULL)),
  CHECK (filled_micros BETWEEN 0 AND token_micros),
  CHECK ((status = 'open') = (ended_at IS NULL)),
  CHECK (status = 'open' OR (escrow_nanos = 0 AND escrow_micros = 0)),
  CHECK (type = 'limit' OR status <> 'open')
);
CREATE INDEX lock_orders_bids ON lock_orders (series_id, price_nanos DESC, place) WHERE status = 'open' AND side = 'buy';
CREATE INDEX lock_orders_asks ON lock_orders (series_id, price_nanos, place) WHERE status = 'open' AND side = 'sell';
CREATE INDEX lock_orders_account ON lock_orders (account_id, id);
-- What the operator offers of a series: each batch of receipts that burns tokens asks for it.
CREATE INDEX lock_orders_stock ON lock_orders (series_id)
  WHERE account_id = 'operator' AND status = 'open' AND side = 'sell';
-- The open orders of a series by account, which end together.
CREATE INDEX lock_orders_open ON lock_orders (series_id, account_id) WHERE status = 'open';

-- In the order of booking.
CREATE TABLE lock_fills (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  maker_order text COLLATE "C" NOT NULL REFERENCES lock_orders (id),
  taker_order text COLLATE "C" NOT NULL REFERENCES lock_orders (id),
  price_nanos bigint NOT NULL CHECK (price_nanos > 0),
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  -- Nanos of coin for the tokens, and the taker's fee.
  cost_nanos bigint NOT NULL CHECK (cost_nanos > 0),
  fee_nanos bigint NOT NULL CHECK (fee_nanos >= 0),
  at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (taker_order, maker_order)
);
CREATE INDEX lock_fills_maker ON lock_fills (maker_order);
CREATE INDEX lock_fills_series ON lock_fills (series_id, id);

-- What buying was quoted at.
CREATE TABLE lock_quotes (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  cost_nanos bigint NOT NULL CHECK (cost_nanos > 0),
  fee_nanos bigint NOT NULL CHECK (fee_nanos >= 0),
  valid_until timestamptz NOT NULL
);
CREATE INDEX lock_quotes_ended ON lock_quotes (valid_until);

-- Who has held tokens of a series, in the ledger account `lock:SERIES:ACCOUNT`. Admission may list it until it is dropped,
-- which is after the end of the series.
CREATE TABLE lock_holdings (
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  is_dropped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (series_id, account_id)
);
CREATE INDEX lock_holdings_account ON lock_holdings (account_id, series_id);
CREATE INDEX lock_holdings_listed ON lock_holdings (series_id, account_id) WHERE NOT is_dropped;

-- Tokens of compute locks as ERC-1155 tokens of the contract LockTokens. The ledger account lock_onchain:SERIES has what was
-- withdrawn and not redeemed.
CREATE TABLE lock_withdrawals (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  contract text NOT NULL CHECK (contract ~ '^0x[0-9a-f]{40}$'),
  micros bigint NOT NULL CHECK (micros > 0),
  units bigint NOT NULL CHECK (units > 0),
  -- sending: taken off the holding. sent: minted. returned: the contract refuses it, the holding has it back. expired: the
  -- series ended before it was minted.
  state text NOT NULL DEFAULT 'sending' CHECK (state IN ('sending', 'sent', 'returned', 'expired')),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lock_withdrawals_of_account ON lock_withdrawals (account_id, id);
CREATE INDEX lock_withdrawals_open ON lock_withdrawals (id) WHERE state = 'sending';
CREATE INDEX lock_withdrawals_series ON lock_withdrawals (series_id);

-- Tokens that wallets have redeemed.
CREATE TABLE lock_redemptions (
  -- HASH:PLACE, the transaction and the place among its redemptions.
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL,
  block_number bigint NOT NULL,
  contract text NOT NULL,
  -- By the id of the token; there may be no such series.
  series_id text COLLATE "C" NOT NULL,
  wallet text NOT NULL CHECK (wallet ~ '^0x[0-9a-f]{40}$'),
  -- What the wallet has noted, 32 bytes in hex.
  note text NOT NULL,
  micros numeric(78, 0) NOT NULL CHECK (micros > 0),
  -- waiting: the wallet is linked to no account, or its account holds too many series. refused: there are no such tokens in the
  -- book. expired: the series ended before it was credited.
  state text NOT NULL CHECK (state IN ('waiting', 'credited', 'refused', 'expired')),
  account_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((state = 'credited') = (account_id IS NOT NULL))
);
CREATE INDEX lock_redemptions_waiting ON lock_redemptions (id) WHERE state = 'waiting';
CREATE INDEX lock_redemptions_series ON lock_redemptions (series_id);

-- How far the redemptions of a contract are read.
CREATE TABLE lock_scans (
  contract text PRIMARY KEY,
  scanned_block bigint NOT NULL
);

-- Tokens of broken series that were taken back from their holders, and the coin for them: transfers of the kind lock_payback.
CREATE TABLE lock_paybacks (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  -- At the locked price.
  units bigint NOT NULL CHECK (units > 0),
  coin_nanos bigint NOT NULL CHECK (coin_nanos >= 0),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lock_paybacks_series ON lock_paybacks (series_id);

-- Series of compute locks: their price, and the tokens in open asks of the operator, which no customer has.
CREATE VIEW lock_stock AS
SELECT s.id AS series_id, s.locked_price_units, coalesce(
    (SELECT sum(o.escrow_micros) FROM lock_orders o WHERE o.series_id = s.id AND o.account_id = 'operator'
       AND o.status = 'open' AND o.side = 'sell'), 0) AS offered_micros
FROM lock_series s;
CREATE TRIGGER holding_changed AFTER UPDATE ON ledger_accounts FOR EACH ROW
  WHEN (NEW.kind = 'lock' AND (OLD.balance > 0) <> (NEW.balance > 0)) EXECUTE FUNCTION note_holding_change();
