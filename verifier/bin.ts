#!/usr/bin/env node
// The command line: sluice-verify receipt.json. All else of the package runs in browsers as well.
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isAttestation } from './attestation.ts'
import { type AttestationEvidence, type Evidence, type Report, verify, verifyAttestation } from './verify.ts'

const USAGE = `usage: sluice-verify receipt.json [options]
       sluice-verify attestation.json [--signer KEY] [--key KEY] [--liability FILE]

Verifies a receipt of GET /v1/receipts/ID or /x402/v1/receipts/ID without asking anybody but the node of --rpc.

  --sheet FILE         the price sheet that the receipt names, of /v1/pricing/sheets/VERSION; not needed where the file
                       is {"receipt": ..., "sheet": ...}
  --lock FILE          of a receipt with "lock", its series or the whole answer of /v1/locks
  --key KEY            the verifier key of the log, NAME+ID+KEY; without it signatures are not checked
  --witness KEY        the verifier key of a witness that has to have cosigned the checkpoint; may be given several times
  --checkpoint FILE    another checkpoint of the log, kept from before or read later
  --consistency FILE   the proof that the later checkpoint contains the earlier one, of /v1/log/consistency

  --contract ADDRESS   where settlement batches are anchored on the chain; with one of the next two, the receipt is verified
                       up to the chain
  --settlement FILE    what eth_getTransactionReceipt answers of the transaction that anchored a batch
  --rpc URL            a node to read that from, of the transaction that --transaction HASH names
  --settlement-consistency FILE
                       the proof that the later of the receipt's checkpoint and the batch contains the earlier one
  --statement FILE     the batch as /v1/settlements/NUMBER shows it

An attestation of the reserve, of /v1/reserve/attestations/latest, is verified likewise:

  --signer KEY         the Ed25519 key of the signer in hex, of /v1/catalog/signer; without it any signer will do
  --liability FILE     what /v1/account/liability shows an account: its place in the attested sum

Exit status: 0 when all that was checked holds, 1 when something does not, 2 when it cannot be checked as it was asked.
`
const HOLDS = 0
const FAILED = 1
const BAD_USAGE = 2
const RPC_TIMEOUT_MS = 10_000

class BadUsage extends Error {}

const STRING = { type: 'string' } as const

function readArguments(args: readonly string[]) {
  try {
    const options = {
      sheet: STRING,
      lock: STRING,
      key: STRING,
      witness: { type: 'string', multiple: true },
      checkpoint: STRING,
      consistency: STRING,
      contract: STRING,
      settlement: STRING,
      rpc: STRING,
      transaction: STRING,
      'settlement-consistency': STRING,
      statement: STRING,
      signer: STRING,
      liability: STRING,
      help: { type: 'boolean' },
    } as const
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new BadUsage((error as Error).message)
  }
}

/** The text of a file; bytes that are no UTF-8 become characters that nothing has signed. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new BadUsage(`${file} cannot be read: ${(error as Error).message}`)
  }
}

interface Asked {
  readonly text: string
  readonly values: Values
}

/** @returns undefined where the usage is asked for */
async function readAsked(args: readonly string[]): Promise<Asked | undefined> {
  const { values, positionals } = readArguments(args)
  if (values.help === true) return undefined
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0) throw new BadUsage('name one file with a receipt or an attestation')
  return { text: await textOf(file), values }
}

/** The options that attestations are verified with. */
const OF_ATTESTATIONS: ReadonlySet<string> = new Set(['key', 'signer', 'liability'])

async function attestationEvidence({ text, values }: Asked): Promise<AttestationEvidence> {
  const other = Object.keys(values).find((name) => !OF_ATTESTATIONS.has(name))
  if (other !== undefined) throw new BadUsage(`--${other} is not for attestations`)
  const { key, signer, liability } = values
  return {
    attestation: text,
    ...(key !== undefined && { key }),
    ...(signer !== undefined && { signer }),
    ...(liability !== undefined && { liability: await textOf(liability) }),
  }
}

async function receiptEvidence({ text, values }: Asked): Promise<Evidence> {
  if (values.signer !== undefined || values.liability !== undefined) {
    throw new BadUsage('--signer and --liability are for attestations')
  }
  const { key, witness, sheet, lock, checkpoint, consistency } = values
  if (consistency !== undefined && checkpoint === undefined) throw new BadUsage('--consistency needs --checkpoint')
  return {
    receipt: text,
    ...(key !== undefined && { key }),
    ...(witness !== undefined && { witnesses: witness }),
    ...(sheet !== undefined && { sheet: await textOf(sheet) }),
    ...(lock !== undefined && { lock: await textOf(lock) }),
    ...(checkpoint !== undefined && { checkpoint: await textOf(checkpoint) }),
    ...(consistency !== undefined && { consistency: await textOf(consistency) }),
    ...(await readSettlement(values)),
  }
}

type Values = ReturnType<typeof readArguments>['values']

async function readSettlement(values: Values): Promise<Partial<Evidence>> {
  const { contract, settlement, rpc, transaction, statement, 'settlement-consistency': proof } = values
  if (settlement === undefined && rpc === undefined) {
    const isAsked =
      contract !== undefined || transaction !== undefined || statement !== undefined || proof !== undefined
    if (isAsked) throw new BadUsage('a settlement batch needs --settlement FILE, or --rpc URL with --transaction HASH')
    return {}
  }
  if (contract === undefined) throw new BadUsage('a settlement batch needs --contract ADDRESS')
  if (
    (settlement === undefined) !== (transaction !== undefined) ||
    (settlement === undefined) !== (rpc !== undefined)
  ) {
    throw new BadUsage('name either --settlement FILE, or --rpc URL with --transaction HASH')
  }
  return {
    contract,
    settlement: settlement === undefined ? await askNode(rpc ?? '', transaction ?? '') : await textOf(settlement),
    ...(proof !== undefined && { settlementConsistency: await textOf(proof) }),
    ...(statement !== undefined && { statement: await textOf(statement) }),
  }
}

/** The only call to a server. The answer is not trusted: it is verified like the contents of a file. */
async function askNode(url: string, transaction: string): Promise<string> {
  if (!/^0x[0-9a-fA-F]{64}$/.test(transaction)) throw new BadUsage('--transaction is 0x and 64 hex digits')
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [transaction] })
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(RPC_TIMEOUT_MS) })
    return await response.text()
  } catch (error) {
    throw new BadUsage(`the node does not answer: ${(error as Error).message}`)
  }
}

function reportText({ steps, ok }: Report, what: string): string {
  const lines = steps.map(({ name, result, reason }) => `${name.padEnd(11)} ${result.padEnd(7)} ${reason}\n`)
  const skipped = steps.flatMap(({ name, result }) => (result === 'skipped' ? [name] : []))
  const holds = skipped.length === 0 ? `${what} holds` : `what was checked holds, without ${skipped.join(' and ')}`
  return `${lines.join('')}${ok ? holds : `${what} does not hold`}\n`
}

async function main(): Promise<number> {
  const asked = await readAsked(process.argv.slice(2))
  if (asked === undefined) {
    process.stdout.write(USAGE)
    return HOLDS
  }
  if (isAttestation(asked.text)) {
    const report = await verifyAttestation(await attestationEvidence(asked))
    process.stdout.write(reportText(report, 'the attestation'))
    return report.ok ? HOLDS : FAILED
  }
  const report = await verify(await receiptEvidence(asked))
  process.stdout.write(reportText(report, 'the receipt'))
  if (!report.ok) return FAILED
  if (report.steps.some(({ name, result }) => name === 'charge' && result === 'skipped')) {
    throw new BadUsage('the charge needs the price sheet, and for burnt tokens their series: --sheet FILE, --lock FILE')
  }
  return HOLDS
}

// Node.js 20 warns that Ed25519 is experimental in its WebCrypto; that does not concern the receipt.
process.removeAllListeners('warning')
try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof BadUsage)) throw error
  process.stderr.write(`sluice-verify: ${error.message}\n`)
  if (process.exitCode === undefined) process.exitCode = BAD_USAGE
}
