import { loadSecp256k1 } from '../../contract/payments/recoverSigner.ts'
import { readVariables, type Variables } from '../../contract/schemas/environment.ts'
import { type PaymentsFile, readPaymentsFile } from './paymentsFile.ts'
import { Signer } from './signer.ts'

/** All that control needs to take payments. */
export interface PaymentsConfig extends PaymentsFile {
  readonly rpcUrl: string
  /** Receives payments and pays refunds and withdrawals. */
  readonly treasury: Signer
  /** Pay the gas of settlements; the treasury itself when none was named. */
  readonly relayers: readonly [Signer, ...Signer[]]
}

/**
 * Reads the configuration of payments.
 * @returns undefined when the operator takes none: SLUICE_PAYMENTS is not set
 * @throws Error that names the variable and its expected form; FileError for an invalid file
 */
export async function readPaymentsConfig(env: NodeJS.ProcessEnv): Promise<PaymentsConfig | undefined> {
  const variables = readVariables(env, 'control')
  const path = variables.SLUICE_PAYMENTS
  if (path === undefined) return undefined
  const rpcUrl = needed(variables, 'CHAIN_RPC_URL', "the address of a node's JSON-RPC")
  const treasuryKey = needed(variables, 'SLUICE_TREASURY_KEY', 'a private key: 0x and 64 hex digits')
  loadSecp256k1()
  const treasury = signerOf('SLUICE_TREASURY_KEY', treasuryKey)
  const named = (variables.SLUICE_RELAYER_KEYS ?? '').split(',').filter((key) => key.trim() !== '')
  const [first = treasury, ...others] = named.map((key) => signerOf('SLUICE_RELAYER_KEYS', key.trim()))
  return { ...(await readPaymentsFile(path)), rpcUrl, treasury, relayers: [first, ...others] }
}

function needed(variables: Variables, name: 'CHAIN_RPC_URL' | 'SLUICE_TREASURY_KEY', what: string): string {
  const value = variables[name]
  if (value === undefined) throw new Error(`SLUICE_PAYMENTS is set, so ${name} has to be ${what}`)
  return value
}

function signerOf(name: string, key: string): Signer {
  try {
    return new Signer(key)
  } catch {
    // The message does not repeat the value, which has the form of a key.
    throw new Error(`${name} must be a private key of the curve secp256k1: not zero, and below the order of the curve`)
  }
}
