import type { Client } from '../runtime/db/pool.ts'
import { attemptIn, broken } from './attempt.ts'
import type { AuditMark } from './auditMark.ts'
import { batchInvariants } from './batchChecks.ts'
import { checkCharges } from './chargeChecks.ts'
import type { AuditCheck, Invariant } from './check.ts'
import { creditInvariants } from './creditChecks.ts'
import { escrowBy } from './escrow.ts'
import { checkInvariant } from './invariant.ts'
import { KEY_TRANSFER_INVARIANTS } from './keyTransferChecks.ts'
import { KIND_INVARIANTS } from './kindChecks.ts'
import type { AuditLimits } from './limits.ts'
import { LOCK_INVARIANTS } from './lockChecks.ts'
import { LOCK_TOKEN_INVARIANTS } from './lockTokenChecks.ts'
import { LOCK_USE_INVARIANTS } from './lockUseChecks.ts'
import { MOVEMENT_INVARIANTS } from './movementChecks.ts'
import { OPENING_INVARIANTS } from './openingChecks.ts'
import { keyOwnerInvariants, OWNER_INVARIANTS } from './ownerChecks.ts'
import { PAID_INVARIANTS } from './paidChecks.ts'
import { PAYMENT_INVARIANTS } from './paymentChecks.ts'
import type { Progress } from './progress.ts'
import { PROVIDER_INVARIANTS } from './providerChecks.ts'
import { referralInvariants } from './referralChecks.ts'
import { RESERVE_INVARIANTS } from './reserveChecks.ts'
import { REWARD_INVARIANTS } from './rewardChecks.ts'
import { SETTLEMENT_INVARIANTS } from './settlementChecks.ts'
import { statisticsInvariants } from './statisticsChecks.ts'
import { balanceInvariants, usageInvariants } from './sumChecks.ts'

const NOT_NEGATIVE: Invariant = {
  name: 'no customer balance is negative',
  checked: `SELECT count(*) || ' customer accounts' FROM ledger_accounts WHERE kind <> 'system'`,
  faults: `SELECT id || ' has ' || balance FROM ledger_accounts WHERE kind <> 'system' AND balance < 0`,
}

const KEPT_LEAVES: Invariant = {
  name: 'months that were put away keep their leaves',
  checked: `SELECT count(*) || ' months of ' || coalesce(sum(receipts), 0) || ' receipts' FROM receipt_archives`,
  faults: `
      SELECT a.month || ' had ' || a.receipts || ' receipts, there are leaves of ' || coalesce(l.leaves, 0)
      FROM receipt_archives a LEFT JOIN
        (SELECT month, sum(length(hashes) / 32) AS leaves FROM archived_leaves GROUP BY month) l USING (month)
      WHERE a.receipts <> coalesce(l.leaves, 0)`,
}

const INVARIANTS: readonly Invariant[] = [
  {
    name: 'every debit is booked once, or voided',
    checked: `SELECT count(*) || ' debits, ' || count(*) FILTER (WHERE voided) || ' of them voided' FROM debits`,
    faults: `
      SELECT d.id || (CASE WHEN d.voided THEN ' is voided' ELSE ' took ' || d.units END) ||
        ', its transfers are ' || coalesce(sum(t.units), 0)
      FROM debits d LEFT JOIN transfers t ON t.ref = d.id AND t.kind <> 'charge'
        AND t.debit IN ('coin:' || d.account_id, (SELECT 'lock:' || series_id || ':' || account_id FROM lock_orders WHERE id = d.id),
          (SELECT 'lock:' || series_id || ':' || account_id FROM lock_withdrawals WHERE id = d.id),
          (SELECT 'lock:' || series_id || ':' || account_id FROM lock_paybacks WHERE id = d.id))
      GROUP BY d.id HAVING coalesce(sum(t.units), 0) <> CASE WHEN d.voided THEN 0 ELSE d.units END`,
  },
  {
    name: 'escrow holds what open links hold',
    checked: `SELECT count(*) || ' links, ' || count(*) FILTER (WHERE status = 'open') || ' of them open' FROM links`,
    faults: `
      SELECT coalesce(l.id, e.id) || ' is ' || coalesce(l.status, 'no link') || ' with ' || coalesce(l.coin_nanos, 0) ||
        ' nanos, in escrow are ' || coalesce(e.nanos, 0) || ' and ' || coalesce(e.units, 0) || ' units'
      FROM links l FULL JOIN (${escrowBy('lnk_', 'link', 'link_claim', 'link_cancel', 'link_expiry')}) e ON e.id = l.id
      WHERE coalesce(e.units, 0) <> 0
        OR coalesce(e.nanos, 0) <> CASE WHEN l.status = 'open' THEN l.coin_nanos ELSE 0 END`,
  },
  {
    name: 'no settlement was rejected',
    checked: `SELECT 'none'`,
    faults: `SELECT 'shard ' || shard || ' entry ' || entry_id || ': ' || reason FROM settlement_rejects`,
  },
]

/**
 * The checks of the book, in the order of the report.
 * @param charges the checks of single receipts
 * @param ofSums what becomes of invariants of the sums over all receipts
 */
function steps(
  limits: AuditLimits,
  isSinceMark: boolean,
  charges: readonly AuditCheck[],
  ofSums: (invariants: readonly Invariant[]) => readonly Step[],
): readonly Step[] {
  return [
    ...ofSums(balanceInvariants(isSinceMark)),
    NOT_NEGATIVE,
    ...charges,
    KEPT_LEAVES,
    ...ofSums(usageInvariants(isSinceMark)),
    ...ofSums(keyOwnerInvariants(isSinceMark)),
    ...ofSums(statisticsInvariants(isSinceMark)),
    ...INVARIANTS,
    ...PAYMENT_INVARIANTS,
    ...ofSums(creditInvariants(isSinceMark)),
    ...MOVEMENT_INVARIANTS,
    ...SETTLEMENT_INVARIANTS,
    ...REWARD_INVARIANTS,
    ...PAID_INVARIANTS,
    ...RESERVE_INVARIANTS,
    ...OWNER_INVARIANTS,
    ...OPENING_INVARIANTS,
    ...KIND_INVARIANTS,
    ...KEY_TRANSFER_INVARIANTS,
    ...LOCK_INVARIANTS,
    ...LOCK_USE_INVARIANTS,
    ...LOCK_TOKEN_INVARIANTS,
    ...ofSums(referralInvariants(isSinceMark)),
    ...PROVIDER_INVARIANTS,
    ...batchInvariants(limits),
  ]
}

type Step = Invariant | AuditCheck

/**
 * Checks the invariants of the book inside one transaction, so that all of them see the same moment.
 * @param client of `inWorkspace`
 * @param mark to continue from: earlier receipts are not read again
 */
export async function checkBook(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const checks: AuditCheck[] = []
  for (const step of await stepsAfterCharges(client, mark, progress, limits)) {
    const check = async () => ('faults' in step ? await checkInvariant(client, step, limits) : step)
    checks.push(await attemptIn(client, check, (error) => broken(step.name, error)))
  }
  return checks
}

/** Without the sums of all receipts there is nothing to compare, so that their invariants are as broken as the charges. */
function stepsAfterCharges(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: AuditLimits,
): Promise<readonly Step[]> {
  const isSinceMark = mark !== undefined
  return attemptIn<readonly Step[]>(
    client,
    async () => {
      const charges = await checkCharges(client, mark, progress, limits)
      return steps(limits, isSinceMark, charges, (invariants) => invariants)
    },
    (error) => {
      const charges = [broken('every charge is booked in full', error)]
      return steps(limits, isSinceMark, charges, (all) => all.map(({ name }) => broken(name, error)))
    },
  )
}
