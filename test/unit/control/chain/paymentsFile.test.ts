import assert from 'node:assert/strict'
import test from 'node:test'
import { parsePaymentsFile } from '../../../../control/chain/paymentsFile.ts'
import { FileError } from '../../../../control/runtime/files/yamlFile.ts'

const GOOD = `
chain_id: 8453
coin: { address: "0x${'AB'.repeat(20)}", decimals: 18, name: Coin }
stablecoin: { address: "0x${'cd'.repeat(20)}", decimals: 6, name: USD Coin, version: "2", usd: "1" }
agent_registry: "0x${'ef'.repeat(20)}"
refund_min_usd: "0.05"
`

test('a payments file is read as assets with the stablecoin first, lower-case addresses, and minima in units', () => {
  const file = parsePaymentsFile('payments.yaml', GOOD)
  assert.deepEqual(file, {
    chainId: 8453,
    confirmations: 1,
    finalBlocks: 30,
    depositConfirmations: 12,
    assets: [
      {
        id: 'stablecoin',
        address: `0x${'cd'.repeat(20)}`,
        decimals: 6,
        name: 'USD Coin',
        version: '2',
        method: 'eip3009',
        usdUnits: 1_000_000_000,
      },
      {
        id: 'coin',
        address: `0x${'ab'.repeat(20)}`,
        decimals: 18,
        name: 'Coin',
        version: '1',
        method: 'permit2',
        usdUnits: 0,
      },
    ],
    agentRegistry: `0x${'ef'.repeat(20)}`,
    refundMinUnits: 50_000_000,
    depositMinUnits: 1_000_000_000,
    withdrawalMinUnits: 1_000_000_000,
    minChargeUnits: 10_000_000,
    gasFeeUnits: 10_000_000,
    blockSeconds: 12,
    settlementAnchor: null,
    settlementIntervalSeconds: 3_600,
    settlementAccountsMin: 5,
    holders: null,
    lockTokens: null,
    reserveVault: null,
  })
})

test('invalid settings are reported with their line', () => {
  const bad: Record<string, [text: string, problem: RegExp]> = {
    'no tokens': ['chain_id: 1', /must have a coin, a stablecoin or both/],
    'chain id': [GOOD.replace('8453', '"8453"'), /payments.yaml:2: chain_id must be a positive whole number/],
    'unquoted address': [GOOD.replace(/"0xcd\w+"/, '0xcdcdcd'), /:4: stablecoin.address must be an address in quotes/],
    'missing price': [GOOD.replace(', usd: "1"', ''), /:4: stablecoin.usd is missing/],
    'zero price': [GOOD.replace('usd: "1"', 'usd: "0"'), /stablecoin.usd must be more than zero/],
    'float price': [GOOD.replace('usd: "1"', 'usd: 1'), /stablecoin.usd must be a decimal string of USD/],
    'unknown key': [`${GOOD}relayer: x\n`, /relayer is not a known key/],
    'one token twice': [GOOD.replace(/AB/g, 'cd'), /two different tokens/],
    decimals: [GOOD.replace('decimals: 18', 'decimals: 80'), /coin.decimals must be a positive whole number up to 24/],
  }
  for (const [what, [text, problem]] of Object.entries(bad)) {
    assert.throws(
      () => parsePaymentsFile('payments.yaml', text),
      (error: unknown) => error instanceof FileError && problem.test(error.message),
      what,
    )
  }
})
