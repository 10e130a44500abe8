-- What floors of control read of tables that a higher floor owns (control/tables.json). A view belongs to the lowest floor that
-- reads it, and is all that this floor has to know of the tables above.

-- Accounts of agents, with the account that they belong to.
CREATE VIEW account_owners AS SELECT id AS account_id, owner_id FROM agents;

-- The sub-keys of platform keys.
CREATE VIEW sub_keys AS SELECT id AS key_id, platform_key_id FROM api_keys WHERE platform_key_id IS NOT NULL;

-- Series of compute locks: their price, and the tokens in open asks of the operator, which no customer has.
CREATE VIEW lock_stock AS
SELECT s.id AS series_id, s.locked_price_units, coalesce(
    (SELECT sum(o.escrow_micros) FROM lock_orders o WHERE o.series_id = s.id AND o.account_id = 'operator'
       AND o.status = 'open' AND o.side = 'sell'), 0) AS offered_micros
FROM lock_series s;

-- Units in one coin, by price sheet.
CREATE VIEW coin_prices AS
SELECT version, ((sheet::jsonb #>> '{coin,usd}')::numeric * 1000000000)::bigint AS units FROM price_sheets;
