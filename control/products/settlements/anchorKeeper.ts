import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Hex } from 'viem'
import type { Address } from '../../../contract/payments/address.ts'
import { attemptRef, subjectOf } from '../../chain/attemptRef.ts'
import { readChain } from '../../chain/chainClient.ts'
import type { SenderParts } from '../../chain/contractCall.ts'
import { storeTransaction } from '../../chain/outbox.ts'
import type { OutcomeHandler } from '../../chain/recorder.ts'
import type { Signer } from '../../chain/signer.ts'
import { estimateGas } from '../../chain/simulation.ts'
import { tryLock } from '../../runtime/db/locks.ts'
import { type Client, withTransaction } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import { type AnchoredBatch, anchorCall, anchoredBatch, hasAnchored } from './anchorContract.ts'
import { type BatchProgress, batchNumbered, insertBatch, lastProgress, type SettlementBatch } from './batchRow.ts'
import type { SettlementsLimits } from './limits.ts'
import { newBatch } from './newBatch.ts'
import type { ReserveOptions } from './reserve.ts'

export interface AnchorOptions extends SenderParts, Omit<ReserveOptions, 'coinUsdUnits' | 'limits'> {
  /** The SettlementAnchor contract. */
  readonly contract: Address
  /** Has the contract's role of an anchorer, and pays the gas. */
  readonly anchorer: Signer
  readonly intervalSeconds: number
  /** How many accounts the receipts of a batch are of at least, unless it has waited long. */
  readonly accountsMin: number
  /** USD of one coin in units. */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  readonly log: Logger
  readonly limits: SettlementsLimits
}

/**
 * Makes a settlement batch at the set interval and anchors it. The next one is made when the one before is anchored; each is
 * sent again only when nothing that was sent before can still anchor it, and the contract takes every number once.
 */
export class AnchorKeeper {
  private readonly options: AnchorOptions
  private readonly loop: Loop
  /** Nothing is tried before this moment of performance.now(). */
  private restsUntilMs = 0

  constructor(options: AnchorOptions) {
    this.options = options
    this.loop = new Loop('settlement batches', options.limits.settlementCheckMs, options.log, () => this.pass())
  }

  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    if (performance.now() < this.restsUntilMs || !this.isDue(await this.progress())) return
    await tryLock(this.options.pool, 'settlementBatches', async () => {
      // Read again: another control may have done it a moment ago.
      const batches = await this.progress()
      const unanchored = batches.findLast(({ isAnchored }) => !isAnchored)
      if (unanchored !== undefined) await this.send(unanchored)
      else if (this.isDue(batches)) await this.make(batches[0])
    })
  }

  private progress(): Promise<BatchProgress[]> {
    return lastProgress(this.options.pool, this.options.limits.settlementsReorgMax)
  }

  private isDue(batches: readonly BatchProgress[]): boolean {
    const unanchored = batches.findLast(({ isAnchored }) => !isAnchored)
    if (unanchored !== undefined) return !unanchored.isOpen
    const [last] = batches
    return last === undefined || last.ageMs >= this.options.intervalSeconds * 1_000
  }

  private async make(last: BatchProgress | undefined): Promise<void> {
    const { pool, chain, chainId, treasury, assets, limits, log, intervalSeconds } = this.options
    const hasWaited = (last?.ageMs ?? 0) >= limits.settlementWaitIntervals * intervalSeconds * 1_000
    const coinUsdUnits = await withTransaction(pool, this.options.coinUsdUnits)
    const batch = await newBatch(pool, last?.number ?? 0, {
      accountsMin: hasWaited ? 1 : this.options.accountsMin,
      chain,
      chainId,
      reserve: { treasury, assets, coinUsdUnits },
      limits,
    })
    if (batch === undefined) return
    await insertBatch(pool, batch)
    logEvent(log, 'settlement_batch_made', {
      batch: batch.number,
      heads: batch.treeSize,
      receipts: batch.receiptsUntil,
    })
    await this.send({ number: batch.number, ageMs: 0, attempts: 0, isOpen: false, isAnchored: false })
  }

  private async send({ number, attempts, isOpen }: BatchProgress): Promise<void> {
    const { pool, chain, chainId, contract, anchorer, fees, watcher, limits } = this.options
    const batch = await batchNumbered(pool, number)
    if (batch === undefined || isOpen) return
    const call = anchorCall(contract, number, contentOf(batch))
    const gas = await estimateGas(chain, anchorer.address, call, limits)
    if (gas === undefined || (await readChain(() => chain.getCode({ address: contract }))) === undefined) {
      await this.refused(batch)
      return
    }
    const current = await fees.current()
    // If two controls reach this point, the unique ref lets only one store it.
    const stored = await withTransaction(pool, (client) => {
      const ref = attemptRef(number, attempts + 1)
      return storeTransaction(client, anchorer, { purpose: 'settlement', ref, chainId, ...call, gas, fees: current })
    })
    // A transaction that reverted would revert again if it were resent immediately.
    if (attempts > 0) this.rest()
    await watcher.send(stored, 0)
  }

  /** The contract rejects the batch: an operator has to investigate. */
  private async refused({ number, root, statement }: SettlementBatch): Promise<void> {
    const { chain, contract, log } = this.options
    this.rest()
    const known = await readChain(() => anchoredBatch(chain, contract, number)).catch(() => undefined)
    const isSame = known?.root === hex(root) && known.statement === hex(digest(statement))
    const found =
      known === undefined
        ? 'is there a SettlementAnchor at this address, and may this key anchor?'
        : isSame
          ? 'it has it already, by a transaction that the book does not know'
          : 'it has another one of this number: the book is older than the chain, so name a new contract'
    logEvent(log, 'settlement_batch_rejected', { batch: number, contract, reason: found })
  }

  private rest(): void {
    this.restsUntilMs = performance.now() + this.options.limits.settlementRefusedMs
  }
}

function contentOf(batch: SettlementBatch): AnchoredBatch {
  const { treeSize, receiptsFrom, receiptsUntil, root, statement, chargedUnits, heldUnits, owedUnits } = batch
  return {
    treeSize: BigInt(treeSize),
    receiptsFrom: BigInt(receiptsFrom),
    receiptsTo: BigInt(receiptsUntil),
    root: hex(root),
    statement: hex(digest(statement)),
    chargedUnits,
    heldUnits,
    owedUnits,
  }
}

const digest = (statement: string): Buffer => createHash('sha256').update(statement, 'utf8').digest()
const hex = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`

/** Batches are anchored or not as their transactions are; nothing else of the book follows from it. */
export const settlementOutcome: OutcomeHandler = {
  depth: 'depositConfirmations',
  mined: async () => {},
  unmade: async () => {},
  isMade: (receipt, { target, ref }) => hasAnchored(receipt, target, Number(subjectOf(ref))),
}
