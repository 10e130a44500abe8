import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { DEMO_TOKEN_ABI, type DevClient } from '../control/launch/chain/deploy.ts'

/** The balance of a new wallet, in atomic units of the token. */
const TOKENS = 1_000_000_000n

export type Wallet = ReturnType<typeof privateKeyToAccount>

/** New wallets with a test token of a development chain. */
export async function newPayers(client: DevClient, token: Address, count: number): Promise<Wallet[]> {
  const payers = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  for (const { address } of payers) {
    const call = { address: token, abi: DEMO_TOKEN_ABI, functionName: 'mint', args: [address, TOKENS] } as const
    await client.waitForTransactionReceipt({ hash: await client.writeContract(call) })
  }
  return payers
}
