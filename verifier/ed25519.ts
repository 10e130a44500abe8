import { type Bytes, utf8 } from './bytes.ts'
import { Failed, must } from './failed.ts'

/** Whether a key has signed a text. @throws Failed if this environment does not support Ed25519 */
export async function isEd25519(signature: Bytes, text: string, publicKey: Bytes): Promise<boolean> {
  const { subtle } = globalThis.crypto as Partial<typeof globalThis.crypto>
  must(subtle !== undefined, 'signatures cannot be verified on a page that came without TLS')
  const imported = await subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify']).catch(() => {
    throw new Failed('this browser does not know Ed25519 yet')
  })
  return subtle.verify({ name: 'Ed25519' }, imported, signature, utf8(text))
}
