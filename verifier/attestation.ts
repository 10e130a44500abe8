import { type Bytes, fromHex, isSame, toHex, utf8 } from './bytes.ts'
import { isEd25519 } from './ed25519.ts'
import { must } from './failed.ts'
import { checkLeaf, checkPath, readLiability, type SumTreeHead } from './liability.ts'
import { Members } from './members.ts'
import { checkSignature, readCheckpoint, readKey } from './note.ts'
import { checkReserve } from './reserve.ts'
import { sha256 } from './sha256.ts'
import { type Found, parse, type Report, Steps, told } from './steps.ts'

const LAYOUT = 'sluice-attestation/1'
const TREE_LAYOUT = 'sluice-liabilities/1'
const KEY_BYTES = 32

/** The input of a verification of an attestation, as texts. */
export interface AttestationEvidence {
  /** As GET /v1/reserve/attestations/latest answers. */
  readonly attestation: string
  /** The Ed25519 key of the signer in hex, as GET /v1/catalog/signer had it when it was kept. */
  readonly signer?: string
  /** The verifier key of the log, NAME+ID+KEY. Without it the signature of the checkpoint is not checked. */
  readonly key?: string
  /** As GET /v1/account/liability answers. */
  readonly liability?: string
}

/** An attestation whose hash is verified. */
interface Attestation {
  readonly number: string
  readonly sha256: Bytes
  readonly statement: Members
  /** Of its sum tree. */
  readonly tree: SumTreeHead
}

/** Whether a file claims to be an attestation. */
export function isAttestation(text: string): boolean {
  try {
    return (JSON.parse(text) as { object?: unknown } | null)?.object === 'reserve_attestation'
  } catch {
    return false
  }
}

/** Verifies an attestation from the given texts only. Never throws: an unreadable text is a failed step. */
export async function verifyAttestation(evidence: AttestationEvidence): Promise<Report> {
  const steps = new Steps()
  const file = await steps.run('file', () => {
    return { value: new Members(parse(evidence.attestation, 'attestation'), 'the file'), reason: 'an attestation' }
  })
  const attestation = file && (await steps.run('statement', () => readAttestation(file)))
  if (file === undefined || attestation === undefined) return steps.report()
  await checkSigner(steps, file, attestation, evidence.signer)
  await steps.run('amounts', () => told(checkReserve(attestation.statement.object('reserve'), attestation.tree.sum)))
  await checkBook(steps, attestation, evidence.key)
  await checkLiability(steps, attestation, evidence.liability)
  return steps.report()
}

function readAttestation(file: Members): Found<Attestation> {
  const text = file.text('statement')
  const digest = sha256(utf8(text))
  must(isSame(digest, file.hash('sha256')), 'the hash is not of the statement')
  const statement = new Members(parse(text, 'statement'), 'statement')
  statement.oneOf('object', ['reserve_attestation'])
  statement.oneOf('layout', [LAYOUT])
  for (const name of statement.names()) {
    must(
      isEqual(statement.value(name), file.value(name)),
      `${name} outside of the statement differs from the statement`,
    )
  }
  const number = statement.text('number')
  must(file.text('message') === `${LAYOUT}\n${number}\n${toHex(digest)}`, 'the message is not that of the statement')
  const value = { number, sha256: digest, statement, tree: readTree(statement.object('liabilities')) }
  return { value, reason: `attestation ${number} of ${statement.text('attested_at')}` }
}

function readTree(tree: Members): SumTreeHead {
  tree.oneOf('layout', [TREE_LAYOUT])
  const [leaves, height] = [tree.count('leaves'), tree.count('height')]
  must(
    height <= 53 && 2 ** height >= leaves && (height === 0 || 2 ** (height - 1) < leaves),
    'the tree has a wrong height',
  )
  return { leaves, height, root: tree.hash('root'), sum: tree.digits('sum_nanos') }
}

/** Both are JSON; members are compared by name. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  const [names, others] = [Object.keys(one), Object.keys(other)]
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === others.length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(Reflect.get(one, name), Reflect.get(other, name)))
  )
}

async function checkSigner(steps: Steps, file: Members, { statement }: Attestation, known?: string): Promise<void> {
  await steps.run('signature', async () => {
    const stated = statement.object('signer').text('ed25519')
    const key = fromHex(stated)
    must(key?.length === KEY_BYTES, 'the signer has no Ed25519 key')
    const [own] = file.objects('signatures').filter((signature) => signature.text('algorithm') === 'ed25519')
    const signature = own && fromHex(own.text('signature'))
    must(signature !== undefined, 'there is no Ed25519 signature')
    must(await isEd25519(signature, file.text('message'), key), 'the signature is not by the signer')
    return told(`signed by ${stated}`)
  })
  if (known === undefined) steps.skip('signer', 'no key of the signer was given')
  else {
    await steps.run('signer', () => {
      must(statement.object('signer').text('ed25519') === known.trim().toLowerCase(), 'another key has signed')
      return told('it is the key that was given')
    })
  }
}

async function checkBook(steps: Steps, { statement }: Attestation, text: string | undefined): Promise<void> {
  if (statement.isNull('book')) {
    steps.skip('book', 'the gateway signs no checkpoints')
    return
  }
  const note = await steps.run('book', () => {
    const book = statement.object('book')
    const value = book.text('checkpoint')
    const { origin, size, root } = readCheckpoint(value)
    const isStated = origin === book.text('origin') && size === book.count('tree_size')
    must(isStated && isSame(root, book.hash('root')), 'the checkpoint is not the one that is stated')
    return { value, reason: `a checkpoint of ${size} heads of ${origin}` }
  })
  if (note === undefined) return
  if (text === undefined) steps.skip('checkpoint', 'no key of the log was given')
  else {
    await steps.run('checkpoint', async () => {
      const key = readKey(text)
      await checkSignature(note, key)
      return told(`signed by ${key.name}`)
    })
  }
}

async function checkLiability(steps: Steps, attestation: Attestation, text: string | undefined): Promise<void> {
  if (text === undefined) return
  const liability = await steps.run('liability', () => readLiability(parse(text, 'liability'), attestation))
  if (liability === undefined) return
  await steps.run('leaf', () => told(checkLeaf(liability)))
  await steps.run('path', () => told(checkPath(liability, attestation.tree)))
}
