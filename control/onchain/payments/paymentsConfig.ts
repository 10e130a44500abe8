import { loadSecp256k1 } from '../../../contract/payments/recoverSigner.ts'
import { Signer } from '../chain/signer.ts'
import { type PaymentsFile, readPaymentsFile } from './paymentsFile.ts'

/** All that control needs to take payments. */
export interface PaymentsConfig extends PaymentsFile {
  readonly rpcUrl: string
  /** Receives payments and pays refunds and withdrawals. */
  readonly treasury: Signer
  /** Pay the gas of settlements; the treasury itself when none was named. */
  readonly relayers: readonly [Signer, ...Signer[]]
}

const FILE = 'SLUICE_PAYMENTS'
const TREASURY = 'SLUICE_TREASURY_KEY'
const RELAYERS = 'SLUICE_RELAYER_KEYS'

/**
 * Reads how payments are taken.
 * @returns undefined when the operator takes none: SLUICE_PAYMENTS is not set
 * @throws Error that names the variable and what it should be; CatalogError when the file does not hold
 */
export async function readPaymentsConfig(env: NodeJS.ProcessEnv): Promise<PaymentsConfig | undefined> {
  const path = env[FILE]
  if (!path) return undefined
  const rpcUrl = env['CHAIN_RPC_URL']
  if (!rpcUrl) throw new Error(`${FILE} is set, so CHAIN_RPC_URL has to be the address of a node's JSON-RPC`)
  loadSecp256k1()
  const treasury = signerOf(TREASURY, env[TREASURY] ?? '')
  const named = (env[RELAYERS] ?? '').split(',').filter((key) => key.trim() !== '')
  const [first = treasury, ...others] = named.map((key) => signerOf(RELAYERS, key.trim()))
  return { ...(await readPaymentsFile(path)), rpcUrl, treasury, relayers: [first, ...others] }
}

function signerOf(name: string, key: string): Signer {
  try {
    return new Signer(key)
  } catch {
    // What was set may be most of a key, so it is not repeated.
    throw new Error(`${name} must be a private key: 0x and 64 hex digits`)
  }
}
