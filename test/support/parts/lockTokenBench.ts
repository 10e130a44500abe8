import assert from 'node:assert/strict'
import { type Address, parseAbi, zeroHash } from 'viem'
import type { Address as KnownAddress } from '../../../contract/payments/address.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { holdingAccount } from '../../../control/book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../../control/book/ledger/appendAdmissionEvent.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { lockTokensInitCode } from '../../../control/chain/deploy/initCodes.ts'
import type { PaymentsConfig } from '../../../control/chain/paymentsConfig.ts'
import { provideContract } from '../../../control/launch/chain/deploy.ts'
import { numberOfId, withdrawalKey } from '../../../control/products/locks/tokens/lockTokensContract.ts'
import { insertLockWithdrawal } from '../../../control/products/locks/tokens/lockWithdrawalRow.ts'
import {
  LOCK_WITHDRAWAL,
  lockOnchainSeries,
  openOnchainAccount,
} from '../../../control/products/locks/tokens/onchainTokens.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import type { Payer } from '../chain.ts'
import { present } from '../present.ts'
import { fundedAccount, until } from './ledger.ts'
import { heldUnits, type PlantedSeries, plantHolding, plantSeries } from './lockPots.ts'
import type { PaymentBench } from './payments.ts'

export const LOCK_TOKENS_ABI = parseAbi([
  'function redeem(uint256 id, uint256 amount, bytes32 account)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function totalSupply(uint256 id) view returns (uint256)',
  'function isMinted(bytes32 withdrawal) view returns (bool)',
  'event Minted(bytes32 indexed withdrawal, uint256 indexed id, address indexed to, uint256 amount)',
])
const HELD_MICROS = 500_000_000

interface Row {
  readonly id: string
  readonly state: string
}

/** Tokens of a series between the holding of one account, which has a wallet, and the chain. */
export class LockTokenBench {
  readonly bench: PaymentBench
  readonly contract: Address
  readonly series: PlantedSeries
  readonly accountId: string
  readonly wallet: Payer

  private constructor(bench: PaymentBench, contract: Address, series: PlantedSeries, accountId: string, wallet: Payer) {
    this.bench = bench
    this.contract = contract
    this.series = series
    this.accountId = accountId
    this.wallet = wallet
  }

  /** @param changes of the settings of the services; gets the contract */
  static async start(bench: PaymentBench, changes: Partial<PaymentsConfig>): Promise<LockTokenBench> {
    const { chain, book } = bench
    const contract = await provideContract(chain.client, lockTokensInitCode(chain.treasury.address))
    Object.assign(changes, { lockTokens: contract.toLowerCase() as KnownAddress })
    const wallet = await chain.newPayer({ coin: 0n, stablecoin: 0n, approve: false })
    const accountId = await fundedAccount(book, 1_000_000_000)
    const series = await plantSeries(book.pool, { model: 'acme/chat-small' })
    await plantHolding(book.pool, series, accountId, HELD_MICROS * series.microUnits)
    bench.wallets.set(wallet.address.toLowerCase(), accountId)
    return new LockTokenBench(bench, contract, series, accountId, wallet)
  }

  /** Withdraws tokens as the endpoint books it. @returns the id of the withdrawal */
  withdraw(micros: number, to: Address = this.wallet.address): Promise<string> {
    const { accountId, series, contract } = this
    const [seriesId, units, id] = [series.id, micros * series.microUnits, newId('lwd')]
    return withTransaction(this.bench.book.pool, async (client) => {
      await lockOnchainSeries(client, seriesId)
      await lockAccounts(client, [accountId])
      const [wallet, at] = [to, contract].map((address) => address.toLowerCase() as KnownAddress)
      const made = { id, seriesId, accountId, wallet: present(wallet), contract: present(at), micros, units }
      await insertLockWithdrawal(client, made)
      const [debit, credit] = [holdingAccount(seriesId, accountId), await openOnchainAccount(client, seriesId)]
      await postTransfers(client, [{ kind: LOCK_WITHDRAWAL, ref: id, debit, credit, units }])
      const grant = { id: seriesId, expiresAtMs: series.endsAtMs, units: -units }
      await appendAdmissionEvent(client, { accountId, coinDelta: 0, grant })
      return id
    })
  }

  /** Sends a redemption; the hash of its transaction. */
  redeem(micros: bigint): Promise<`0x${string}`> {
    const args = [numberOfId(this.series.id), micros, zeroHash] as const
    const call = { abi: LOCK_TOKENS_ABI, address: this.contract, functionName: 'redeem', args } as const
    return this.bench.chain.client.writeContract({ ...call, account: this.wallet, gas: 200_000n })
  }

  /** Micro-tokens of the wallet. */
  onChain(): Promise<bigint> {
    const args = [this.wallet.address, numberOfId(this.series.id)] as const
    return this.bench.chain.client.readContract({
      abi: LOCK_TOKENS_ABI,
      address: this.contract,
      functionName: 'balanceOf',
      args,
    })
  }

  isMinted(withdrawalId: string): Promise<boolean> {
    const [args, address] = [[withdrawalKey(withdrawalId)] as const, this.contract]
    return this.bench.chain.client.readContract({ abi: LOCK_TOKENS_ABI, address, functionName: 'isMinted', args })
  }

  /** Micro-tokens of the account's holding. */
  async held(): Promise<number> {
    return (await heldUnits(this.bench.book.pool, this.series, this.accountId)) / this.series.microUnits
  }

  async withdrawals(): Promise<Row[]> {
    return (await this.bench.book.pool.query<Row>('SELECT id, state FROM lock_withdrawals ORDER BY id')).rows
  }

  /** Makes blocks until everything is minted or returned, every redemption is credited, and admission knows. */
  async settled(): Promise<void> {
    const { bench } = this
    await bench.chain.client.mine({ blocks: 1 })
    const head = Number(await bench.chain.client.getBlockNumber())
    const open = () =>
      bench.scalar<number>(
        `SELECT (SELECT count(*) FROM lock_withdrawals WHERE state = 'sending')
           + (SELECT count(*) FROM lock_redemptions WHERE state = 'waiting')
           + (SELECT count(*) FROM lock_scans WHERE scanned_block < $1)
           + (SELECT count(*) FROM chain_transactions WHERE state = 'pending')
           + (SELECT count(*) FROM admission_events)`,
        head,
      )
    await until('tokens are where they belong', async () => {
      await bench.chain.client.mine({ blocks: 1 })
      return (await open()) === 0
    })
  }

  /**
   * Asserts that each withdrawal that counts as sent was minted once and no other, and that the account and the chain have all
   * tokens together; then audits.
   */
  async assertWhole(): Promise<void> {
    const { bench, contract: address } = this
    const events = await bench.chain.client.getContractEvents({ abi: LOCK_TOKENS_ABI, address, fromBlock: 0n })
    const minted = events.flatMap(({ args, eventName }) => (eventName === 'Minted' ? [args.withdrawal] : []))
    const sent = (await this.withdrawals()).filter(({ state }) => state === 'sent')
    assert.deepEqual(minted.sort(), sent.map(({ id }) => withdrawalKey(id)).sort())
    const supply = await bench.chain.client.readContract({
      abi: LOCK_TOKENS_ABI,
      address,
      functionName: 'totalSupply',
      args: [numberOfId(this.series.id)],
    })
    assert.equal((await this.held()) + Number(supply), HELD_MICROS)
    await bench.audit()
  }
}
