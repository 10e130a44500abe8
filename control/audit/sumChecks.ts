import { ROLLUP_KEYS, rollupsOf } from '../book/rollups/rollupSums.ts'
import { hourSumsOf, outcomesOf, tagSumsOf, uncountedReceipts } from '../book/usage/receiptSums.ts'
import { HOUR_SUM_COLUMNS, SUM_COLUMNS } from '../book/usage/usageSums.ts'
import type { Invariant } from './check.ts'
import { sumsOf } from './sumTables.ts'

/** Movements other than charges, which are few and found by an index. */
const OTHERS = `SELECT account, currency, amount FROM postings WHERE kind <> 'charge'`

/** SQL of whether a group of rows \`used\` is more than receipts that were not counted yet. */
const IS_COUNTED = `(${SUM_COLUMNS.map((name) => `sum(used.${name})`).join(', ')}) <> (0, 0, 0, 0, 0)`

/** Receipts that were not counted yet are in no row: they are taken off the sums of all receipts. */
const UNCOUNTED_TAGS = `
  SELECT account_id, kind, hours, period, value, -requests, -units, -input_tokens, -cached_input_tokens, -output_tokens
  FROM (${tagSumsOf(uncountedReceipts('usage_tags', 'true'))}) AS uncounted`

const UNCOUNTED_HOURS = `
  SELECT hour, provider, model, outcome, ${HOUR_SUM_COLUMNS.map((name) => `-${name}`).join(', ')}
  FROM (${hourSumsOf(uncountedReceipts('usage_hours', 'true'))}) AS uncounted`

const UNCOUNTED_OUTCOMES = `
  SELECT account_id, day, model, provider, outcome, -requests, -units, -input_tokens, -cached_input_tokens, -output_tokens
  FROM (${outcomesOf(uncountedReceipts('usage_outcomes', 'true'))}) AS uncounted`

/** Invariants of all postings together. */
export const balanceInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'postings sum to zero',
    checked: `SELECT count(*) || ' transfers other than charges' FROM transfers WHERE kind <> 'charge'`,
    faults: `
      SELECT 'the sum of ' || currency || ' is ' || sum(amount)
      FROM (SELECT currency, amount FROM ${sumsOf('charges', isSinceMark)} c UNION ALL
        SELECT currency, amount FROM (${OTHERS}) AS others) AS both_kinds
      GROUP BY currency HAVING sum(amount) <> 0`,
  },
  {
    name: 'balances equal their postings',
    checked: `SELECT count(*) || ' ledger accounts' FROM ledger_accounts`,
    faults: `
      SELECT coalesce(a.id, p.account) || ' has ' || coalesce(a.balance::text, 'no account') || ', its postings ' ||
        coalesce(p.amount, 0)
      FROM ledger_accounts a FULL JOIN (
        SELECT account, sum(amount) AS amount
        FROM (SELECT account, amount FROM ${sumsOf('charges', isSinceMark)} c UNION ALL
          SELECT account, amount FROM (${OTHERS}) AS others) AS both_kinds
        WHERE account <> 'exchange' GROUP BY account
      ) p ON p.account = a.id
      WHERE a.balance IS DISTINCT FROM coalesce(p.amount, 0)`,
  },
]

/** SQL of the sums of a table that are rolled up. */
const rolledUp = (table: string, day = 'day', where = ''): string =>
  `(SELECT t.* FROM ${table} t JOIN usage_rollup_ends e ON e.account_id = t.account_id AND t.${day} < e.until_day${where})`

/** Rows of usage_rollups that differ from the sums that they are made of, which have checks of their own. */
const ROLLUP_FAULTS = `
  SELECT coalesce(u.account_id, r.account_id) || ', ' || coalesce(u.kind, r.kind) || ' ' || coalesce(u.name, r.name) || ' ' ||
    coalesce(u.model, r.model) || ' in the ' || coalesce(u.span, r.span) || ' from day ' || coalesce(u.period, r.period) || ': ' ||
    coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) || ' requests, its days ' || coalesce(r.units, 0) || ' in ' ||
    coalesce(r.requests, 0)
  FROM usage_rollups u FULL JOIN (${rollupsOf({
    days: rolledUp('usage_days'),
    outcomes: rolledUp('usage_outcomes'),
    tags: rolledUp('usage_tags', 'period', ' AND t.hours = 24'),
  })}) r ON ${ROLLUP_KEYS.map((key) => `r.${key} = u.${key}`).join(' AND ')}
  WHERE (${SUM_COLUMNS.map((name) => `u.${name}`).join(', ')}) IS DISTINCT FROM (${SUM_COLUMNS.map((name) => `r.${name}`).join(', ')})`

/** Invariants of the tables that receipts are added up in. */
export const usageInvariants = (isSinceMark: boolean): readonly Invariant[] => [
  {
    name: 'key usage equals the receipts and debits',
    checked: `SELECT count(*) || ' hours of keys' FROM key_usage`,
    faults: `
      SELECT coalesce(u.key_id, r.key_id) || ' in hour ' || coalesce(u.hour, r.hour) || ': ' ||
        coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) || ' requests, its receipts and debits ' ||
        coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM key_usage u FULL JOIN (
        SELECT key_id, hour, sum(units) AS units, sum(requests) AS requests FROM (
          SELECT key_id, hour, units, requests FROM ${sumsOf('key_usage', isSinceMark)} AS charged
          UNION ALL
          SELECT key_id, (taken_at_ms / 3600000)::integer, sum(units), 0
          FROM debits WHERE key_id <> '' AND NOT voided GROUP BY 1, 2
        ) AS spent GROUP BY 1, 2
      ) r ON r.key_id = u.key_id AND r.hour = u.hour
      WHERE (u.units, u.requests) IS DISTINCT FROM (r.units, r.requests)`,
  },
  {
    name: 'usage by day equals the receipts',
    checked: `SELECT count(*) || ' days of keys and models' FROM usage_days`,
    faults: `
      SELECT coalesce(u.key_id, r.key_id) || ' with ' || coalesce(u.model, r.model) || ' on day ' ||
        coalesce(u.day, r.day) || ': ' || coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) ||
        ' requests, its receipts ' || coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM usage_days u FULL JOIN (
        SELECT account_id, day, key_id, model, sum(requests) AS requests, sum(units) AS units,
          sum(input_tokens) AS input, sum(cached_input_tokens) AS cached, sum(output_tokens) AS output
        FROM ${sumsOf('usage_days', isSinceMark)} AS used GROUP BY 1, 2, 3, 4
      ) r ON r.account_id = u.account_id AND r.day = u.day AND r.key_id = u.key_id AND r.model = u.model
      WHERE (u.units, u.requests, u.input_tokens, u.cached_input_tokens, u.output_tokens)
        IS DISTINCT FROM (r.units, r.requests, r.input, r.cached, r.output)`,
  },
  {
    name: 'usage by provider and outcome equals the receipts',
    checked: `SELECT count(*) || ' days of providers and outcomes' FROM usage_outcomes`,
    faults: `
      SELECT coalesce(u.provider, r.provider) || ' with ' || coalesce(u.model, r.model) || ' and ' || coalesce(u.outcome, r.outcome) ||
        ' of ' || coalesce(u.account_id, r.account_id) || ' on day ' || coalesce(u.day, r.day) || ': ' || coalesce(u.units, 0) ||
        ' in ' || coalesce(u.requests, 0) || ' requests, its receipts ' || coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM usage_outcomes u FULL JOIN (
        SELECT account_id, day, model, provider, outcome, sum(requests) AS requests, sum(units) AS units, sum(input_tokens) AS input,
          sum(cached_input_tokens) AS cached, sum(output_tokens) AS output
        FROM (SELECT * FROM ${sumsOf('usage_outcomes', isSinceMark)} AS booked UNION ALL ${UNCOUNTED_OUTCOMES}) AS used
        GROUP BY 1, 2, 3, 4, 5 HAVING ${IS_COUNTED}
      ) r ON r.account_id = u.account_id AND r.day = u.day AND r.model = u.model AND r.provider = u.provider AND r.outcome = u.outcome
      WHERE (u.units, u.requests, u.input_tokens, u.cached_input_tokens, u.output_tokens)
        IS DISTINCT FROM (r.units, r.requests, r.input, r.cached, r.output)`,
  },
  {
    name: 'usage by hour equals the receipts',
    checked: `SELECT count(*) || ' hours of providers, models and outcomes' FROM usage_hours`,
    faults: `
      SELECT coalesce(u.provider, r.provider) || ' with ' || coalesce(u.model, r.model) || ' and ' || coalesce(u.outcome, r.outcome) ||
        ' in hour ' || coalesce(u.hour, r.hour) || ': ' || coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) ||
        ' requests, its receipts ' || coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM usage_hours u FULL JOIN (
        SELECT hour, provider, model, outcome, ${HOUR_SUM_COLUMNS.map((name) => `sum(${name}) AS ${name}`).join(', ')}
        FROM (SELECT * FROM ${sumsOf('usage_hours', isSinceMark)} AS booked UNION ALL ${UNCOUNTED_HOURS}) AS used
        GROUP BY 1, 2, 3, 4 HAVING ${IS_COUNTED}
      ) r ON r.hour = u.hour AND r.provider = u.provider AND r.model = u.model AND r.outcome = u.outcome
      WHERE (${HOUR_SUM_COLUMNS.map((name) => `u.${name}`).join(', ')})
        IS DISTINCT FROM (${HOUR_SUM_COLUMNS.map((name) => `r.${name}`).join(', ')})`,
  },
  {
    name: 'usage by tag and user equals the receipts',
    checked: `SELECT count(*) || ' hours and days of tags and users' FROM usage_tags`,
    faults: `
      SELECT coalesce(u.kind, r.kind) || ' ' || coalesce(nullif(coalesce(u.value, r.value), ''), 'others') || ' of ' ||
        coalesce(u.account_id, r.account_id) || ' in period ' || coalesce(u.period, r.period) || ' of ' ||
        coalesce(u.hours, r.hours) || ' h: ' || coalesce(u.units, 0) || ' in ' || coalesce(u.requests, 0) ||
        ' requests, its receipts ' || coalesce(r.units, 0) || ' in ' || coalesce(r.requests, 0)
      FROM usage_tags u FULL JOIN (
        SELECT account_id, kind, hours, period, coalesce(named.value, '') AS value, sum(used.requests) AS requests,
          sum(used.units) AS units, sum(used.input_tokens) AS input, sum(used.cached_input_tokens) AS cached,
          sum(used.output_tokens) AS output
        FROM (SELECT * FROM ${sumsOf('usage_tags', isSinceMark)} AS booked UNION ALL ${UNCOUNTED_TAGS}) AS used
        LEFT JOIN usage_tags named USING (account_id, kind, hours, period, value) GROUP BY 1, 2, 3, 4, 5
        HAVING ${IS_COUNTED}
      ) r ON r.account_id = u.account_id AND r.kind = u.kind AND r.hours = u.hours AND r.period = u.period AND r.value = u.value
      WHERE (u.units, u.requests, u.input_tokens, u.cached_input_tokens, u.output_tokens)
        IS DISTINCT FROM (r.units, r.requests, r.input, r.cached, r.output)`,
  },
  {
    name: 'usage rollups equal the usage by day',
    checked: `SELECT count(*) || ' rollups' FROM usage_rollups`,
    faults: ROLLUP_FAULTS,
  },
]
