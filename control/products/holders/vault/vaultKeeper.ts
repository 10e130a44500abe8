import type { Logger } from 'pino'
import type { Address } from '../../../../contract/payments/address.ts'
import { attemptRef } from '../../../chain/attemptRef.ts'
import { type CallParts, sendCall } from '../../../chain/contractCall.ts'
import type { OutcomeHandler } from '../../../chain/recorder.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import type { HoldersLimits } from '../limits.ts'
import { hasVested, readVault, vestCall } from './vaultContract.ts'
import { hourOf, keepPrice } from './vaultPrices.ts'

export interface VaultKeeperOptions extends CallParts {
  readonly limits: HoldersLimits
  readonly vault: Address
  readonly log: Logger
}

/** Has revenue of the vault vest once it arrived, and keeps the price of a share by the hour. */
export class VaultKeeper {
  private readonly options: VaultKeeperOptions
  private keptHour = -1
  /** Nothing is sent before this moment of performance.now(). */
  private restsUntilMs = 0

  constructor(options: VaultKeeperOptions) {
    this.options = options
  }

  /** Calls must not run concurrently. @throws GatewayError chain_unavailable */
  async keep(): Promise<void> {
    const { pool, chain, vault } = this.options
    const last = await this.lastPayout()
    if (last === undefined && this.keptHour === hourOf(Date.now() / 1_000)) return
    const state = await readVault(chain, vault)
    if (this.keptHour !== hourOf(state.blockTime)) {
      await keepPrice(pool, vault, state)
      this.keptHour = hourOf(state.blockTime)
    }
    // Without shares, vesting would benefit no holder; the revenue waits in the vault.
    if (last === undefined || state.pending === 0n || state.totalSupply === 0n) return
    if (performance.now() >= this.restsUntilMs) await this.vest(last)
  }

  /** The last period whose coin has arrived in the vault, if no call for it is pending. Any wallet may make that call. */
  private async lastPayout(): Promise<{ number: number; attempts: number } | undefined> {
    const { pool, vault } = this.options
    const found = await pool.query<{ number: number; attempts: number; is_open: boolean }>(
      `SELECT o.number, count(t.id) AS attempts, coalesce(bool_or(t.state IN ('pending', 'stuck')), false) AS is_open
       FROM (SELECT number FROM revenue_payouts WHERE purpose = 'vault' AND state = 'sent' AND receiver = $1
         ORDER BY number DESC LIMIT 1) o
       LEFT JOIN chain_transactions t ON t.purpose = 'vault_vest' AND t.subject_id = o.number::text
       GROUP BY o.number`,
      [vault],
    )
    const [row] = found.rows
    return row === undefined || row.is_open ? undefined : row
  }

  private async vest({ number, attempts }: { number: number; attempts: number }): Promise<void> {
    const { vault, log, limits } = this.options
    const isTaken = await sendCall(this.options, 'vault_vest', attemptRef(number, attempts + 1), vestCall(vault))
    // A transaction that reverted would revert again if it were resent immediately.
    if (!isTaken || attempts > 0) this.restsUntilMs = performance.now() + limits.revenueRefusedMs
    if (!isTaken) logEvent(log, 'vault_vesting_rejected', { vault, period: number })
  }
}

/** Vesting happens in the vault; its outcome books nothing. */
export const vestOutcome: OutcomeHandler = {
  depth: 'depositConfirmations',
  mined: async () => {},
  unmade: async () => {},
  isMade: (receipt, { target }) => hasVested(receipt, target),
}
