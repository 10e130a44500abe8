import { DAY_MS } from '../../../contract/api/time.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinFor } from '../../../contract/money/coin.ts'
import { type IdPrefix, newId } from '../../../contract/wire/ids.ts'
import type { Taking } from '../../admission/debits/debit.ts'
import { idBound } from '../../book/partitions/idTime.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { PaymentsLimits } from './limits.ts'

/** The kind of the transfers of fees that accounts pay for the gas of their transactions. */
export const GAS_FEE = 'gas_fee'

/** Transactions that accounts have the gateway send and pay the gas of, but for payments. */
export interface SentByGateway {
  readonly prefix: IdPrefix
  /** How many an account has a day. */
  readonly perDay: 'signedDepositsPerDay' | 'withdrawalsPerDay' | 'lockWithdrawalsPerDay'
  /** How many of an account have this id or a later one. */
  readonly countSince: (client: Client, accountId: string, id: string) => Promise<number>
}

const RETRY_SECONDS = 3_600

/**
 * Bounds by day how often an account has the gateway pay gas. Its row has to be locked, so that concurrent requests are counted one
 * after the other. @throws GatewayError rate_limited
 */
export async function refuseBeyondDay(
  client: Client,
  { prefix, perDay, countSince }: SentByGateway,
  accountId: string,
  limits: PaymentsLimits,
): Promise<void> {
  const count = await countSince(client, accountId, idBound(Date.now() - DAY_MS, prefix))
  if (count < limits[perDay]) return
  throw new GatewayError('rate_limited', {
    message: `An account has at most ${limits[perDay]} of these in 24 hours, because the gateway pays their gas; wait, or move more in one transfer.`,
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/**
 * The fee of a transaction as it is taken off an account, for a transfer of the kind GAS_FEE to revenue.
 * @param feeUnits of the payments file
 * @returns undefined where the gateway asks for none
 */
export function gasFee(accountId: string, feeUnits: number, coinUsdUnits: number): Taking | undefined {
  if (feeUnits === 0) return undefined
  return { id: newId('gas'), accountId, nanos: coinFor(feeUnits, coinUsdUnits), units: feeUnits }
}
