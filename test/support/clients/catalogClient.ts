import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { type Hex, verifyMessage } from 'viem'

// Written from docs/reference/catalog.md, with viem and node:crypto alone.

export interface Keys {
  readonly address: Hex
  readonly ed25519: string
}
interface Signature {
  readonly algorithm: string
  readonly signer: string
  readonly signature: string
}
export interface Link extends Keys {
  readonly number: string
  readonly from_version: string
  readonly message: string
  readonly own_signatures: readonly Signature[]
  readonly previous_signatures: readonly Signature[]
}

interface SignatureJson {
  readonly digest: { readonly hex: string }
  readonly message: string
  readonly signatures: readonly Signature[]
}

export interface SignerJson extends Keys {
  readonly number: string
  readonly chain: readonly Link[]
}

export interface CatalogJson {
  readonly version: string
  readonly previous: { readonly version: string; readonly sha256: string } | null
  readonly valid_from: string
  readonly valid_until: string
  readonly signer: Keys
  readonly price_sheet: { readonly version: string; readonly sha256: string }
  readonly models: ReadonlyArray<{ readonly id: string; readonly price: unknown }>
}

export interface ListJson<Entry> {
  readonly object: string
  readonly data: readonly Entry[]
  readonly has_more: boolean
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Canonical JSON as the documentation has it. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

async function isSigned(message: string, signatures: readonly Signature[], { address, ed25519 }: Keys) {
  const [wallet, plain] = ['eip191', 'ed25519'].map((name) => signatures.find((one) => one.algorithm === name))
  assert.deepEqual([wallet?.signer, plain?.signer], [address, ed25519])
  const x = Buffer.from(ed25519, 'hex').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const signature = wallet?.signature as Hex
  const isPlain = (text: string) => verify(null, Buffer.from(text), key, Buffer.from(plain?.signature ?? '', 'hex'))
  // Both are wrong for another text.
  assert.equal(await verifyMessage({ address, message: `${message}\n`, signature }), false)
  assert.equal(isPlain(`${message}\n`), false)
  return (await verifyMessage({ address, message, signature })) && isPlain(message)
}

/** A stranger who believes nothing that is not signed. */
export class CatalogClient {
  private readonly baseUrl: () => string

  constructor(baseUrl: () => string) {
    this.baseUrl = baseUrl
  }

  get(path: string): Promise<Response> {
    return fetch(`${this.baseUrl()}${path}`)
  }

  async text(path: string): Promise<string> {
    return (await this.get(path)).text()
  }

  async json<Answer>(path: string): Promise<Answer> {
    return JSON.parse(await this.text(path)) as Answer
  }

  /** A catalog, once its signatures hold. @param query such as `?version=1` */
  async catalog(query: string, chain: readonly Link[]) {
    const text = await this.text(`/v1/catalog${query}`)
    const catalog = JSON.parse(text) as CatalogJson
    const signature = await this.json<SignatureJson>(`/v1/catalog/signature?version=${catalog.version}`)
    assert.equal(signature.digest.hex, sha256(text))
    const message = ['sluice-catalog/1', catalog.version, sha256(text)].join('\n')
    assert.equal(signature.message, message)
    const signer = chain.findLast((link) => Number(link.from_version) <= Number(catalog.version)) ?? assert.fail()
    assert.ok(await isSigned(message, signature.signatures, signer))
    assert.deepEqual(catalog.signer, { address: signer.address, ed25519: signer.ed25519 })
    return { text, catalog }
  }

  /** The chain of signers, once every link holds. */
  async chain(): Promise<readonly Link[]> {
    const { chain, address } = await this.json<SignerJson>('/v1/catalog/signer')
    for (const [place, link] of chain.entries()) {
      const { number, from_version: from } = link
      const before = place === 0 ? '' : sha256(await this.text(`/v1/catalog?version=${Number(from) - 1}`))
      const message = ['sluice-catalog-signer/1', number, link.address, link.ed25519, from, before].join('\n')
      assert.equal(link.message, message)
      assert.ok(await isSigned(message, link.own_signatures, link))
      const by = chain[place - 1]
      if (by !== undefined) assert.ok(await isSigned(message, link.previous_signatures, by))
    }
    assert.equal(address, chain.at(-1)?.address)
    return chain
  }
}
