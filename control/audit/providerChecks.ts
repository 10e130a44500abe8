import { servedReceipts } from '../products/marketplace/serving/servedReceipts.ts'
import type { Invariant } from './check.ts'

/** The amounts due for the receipts that registered providers served, including those of archived months. */
const SERVED = `
  SELECT id, sum(receipts) AS receipts, sum(charged) AS charged, sum(due) AS due FROM (
    SELECT a.id, count(*) AS receipts, sum(r.charge_units) AS charged, sum(d.due_micros) AS due
    FROM ${servedReceipts('receipts')} AND r.position < (SELECT position FROM provider_cursors c WHERE c.log = r.log)
    GROUP BY a.id
    UNION ALL
    SELECT admission_id, receipts, charged_units, due_micros FROM archived_provider_receipts
  ) AS parts GROUP BY id`

/** Invariants of registered providers: each receipt that one served is paid for once, by its terms. */
export const PROVIDER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every receipt of a registered provider counts once',
    checked: `SELECT count(*) || ' admissions, counted are ' || (SELECT sum(position) FROM provider_cursors) || ' receipts'
      FROM provider_admissions`,
    faults: `
      SELECT a.id || ' counted ' || a.receipts || ' receipts of ' || a.charged_units || ', its stretches ' ||
        coalesce(e.receipts, 0) || ' of ' || coalesce(e.charged, 0) || ' with ' || coalesce(e.due, 0) || '/1000000 due, its receipts ' ||
        coalesce(s.receipts, 0) || ' of ' || coalesce(s.charged, 0) || ' with ' || coalesce(s.due, 0)
      FROM provider_admissions a
      LEFT JOIN (
        SELECT admission_id, sum(receipts) AS receipts, sum(charged_units) AS charged, sum(due_micros) AS due
        FROM provider_earnings GROUP BY 1
      ) e ON e.admission_id = a.id
      LEFT JOIN (${SERVED}) s ON s.id = a.id
      WHERE a.receipts <> coalesce(e.receipts, 0) OR a.receipts <> coalesce(s.receipts, 0)
        OR a.charged_units <> coalesce(e.charged, 0) OR a.charged_units <> coalesce(s.charged, 0)
        OR coalesce(e.due, 0) <> coalesce(s.due, 0)
      UNION ALL
      SELECT 'counted up to ' || c.position || ' of ' || h.size || ' receipts of log ' || c.log
      FROM provider_cursors c JOIN usage_log_heads h USING (log)
      WHERE c.position > h.size`,
  },
  {
    name: 'every registered provider is paid what is due',
    checked: `SELECT count(*) || ' payments' FROM provider_earnings WHERE units > 0`,
    faults: `
      SELECT a.id || ' earned ' || a.earned_units || ' and ' || a.rest || '/1000000, its stretches ' || coalesce(e.units, 0) ||
        ', due were ' || coalesce(e.due, 0) || '/1000000'
      FROM provider_admissions a LEFT JOIN (
        SELECT admission_id, sum(units) AS units, sum(due_micros) AS due FROM provider_earnings GROUP BY 1
      ) e ON e.admission_id = a.id
      WHERE a.earned_units <> coalesce(e.units, 0) OR a.earned_units * 1000000::numeric + a.rest <> coalesce(e.due, 0)
      UNION ALL
      SELECT coalesce(e.ref, t.ref) || ' is due ' || coalesce(e.units, 0) || ', paid were ' || coalesce(t.units, 0)
      FROM (
        SELECT e.units, a.account_id, e.admission_id || ':' || e.log || ':' || e.to_position AS ref
        FROM provider_earnings e JOIN provider_admissions a ON a.id = e.admission_id
      ) e
      FULL JOIN (SELECT * FROM transfers WHERE kind = 'provider_share') t ON t.ref = e.ref
        AND t.debit = 'provider_cost' AND t.credit = 'coin:' || e.account_id
      WHERE coalesce(e.units, 0) <> coalesce(t.units, 0)`,
  },
  {
    name: 'every comparison of a registered provider is paid once',
    checked: `SELECT count(*) || ' comparisons' FROM provider_probes`,
    faults: `
      SELECT coalesce(p.id, t.ref) || ' is due ' || coalesce(p.units, 0) || ', paid were ' || coalesce(t.units, 0)
      FROM (
        SELECT p.id, p.units, a.account_id FROM provider_probes p JOIN provider_admissions a ON a.id = p.admission_id
      ) p
      FULL JOIN (SELECT * FROM transfers WHERE kind = 'provider_probe') t ON t.ref = p.id
        AND t.debit = 'provider_cost' AND t.credit = 'coin:' || p.account_id
      WHERE coalesce(p.units, 0) <> coalesce(t.units, 0)`,
  },
]
