import { createHash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { freshReads, reachOf } from '../../../contract/providers/reach.ts'
import { callHttp } from '../../runtime/net/httpCall.ts'
import type { RecordsLimits } from '../limits.ts'

/** The most of an answer that an error has. */
const FAULT_CHARACTERS = 500

/** Where exports go. */
export interface ExportStore {
  /** Stores a file under a name, in place of one that is there. @throws Error that says why it could not */
  put(name: string, contents: Buffer): Promise<void>
}

/** A folder, where a file appears once it is whole. */
export class FolderStore implements ExportStore {
  private readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  async put(name: string, contents: Buffer): Promise<void> {
    const path = join(this.dir, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(`${path}.part`, contents, { flush: true })
    await rename(`${path}.part`, path)
  }
}

export interface S3Settings {
  /** The address of the bucket, and of a folder in it, with a slash at the end. */
  readonly url: URL
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

/** A bucket of Amazon S3, or of a server that speaks its protocol. HTTPS_PROXY and NO_PROXY hold. */
export class S3Store implements ExportStore {
  private readonly settings: S3Settings
  private readonly limits: RecordsLimits

  constructor(settings: S3Settings, limits: RecordsLimits) {
    this.settings = settings
    this.limits = limits
  }

  async put(name: string, contents: Buffer): Promise<void> {
    const { url, region, accessKeyId, secretAccessKey, sessionToken } = this.settings
    const address = new URL(name, url)
    // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
    const signer = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
    })
    const headers = {
      'content-type': 'application/gzip',
      'x-amz-content-sha256': createHash('sha256').update(contents).digest('hex'),
    }
    const signed = await signer.sign(address.href, { method: 'PUT', body: new Uint8Array(contents), headers })
    const { status, body } = await callHttp({
      method: 'PUT',
      url: address,
      headers: Object.fromEntries(signed.headers),
      body: contents,
      timeoutMs: this.limits.exportTimeoutMs,
      answerBytesMax: this.limits.exportAnswerBytesMax,
      allowPrivate: true,
      reach: reachOf({ baseUrl: address.href }, freshReads(process.env)).reach,
    })
    if (status >= 300)
      throw new Error(`${address.href} answered ${status}: ${body.toString().slice(0, FAULT_CHARACTERS)}`)
  }
}
