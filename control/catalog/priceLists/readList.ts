import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { mayBePublicHost } from '../../../contract/net/publicUrl.ts'
import { freshReads, reachOfAddress, type StatedReach } from '../../../contract/providers/reach.ts'
import { callHttp } from '../../runtime/net/httpCall.ts'
import type { CatalogLimits } from '../limits.ts'
import type { CatalogPriceList } from '../pricing/catalogFile.ts'
import { type ListedModel, readPriceList } from './priceList.ts'

/** A price list that could not be read; the message says why. */
class PriceListError extends Error {
  override readonly name = 'PriceListError'
}

export interface ReadList {
  readonly models: readonly ListedModel[]
  /** Of the bytes that were read, in hex. */
  readonly sha256: string
}

/** The name of a list in the book. */
export function listName({ place, prefix }: CatalogPriceList): string {
  const name = 'url' in place ? place.url : `file:${place.file}`
  return prefix === '' ? name : `${name}#${prefix}`
}

/** The public form of a list's address: the one that the operator has named for it, if it is on the public internet. */
export function shownUrl({ place, isNamed }: CatalogPriceList): string | undefined {
  return isNamed && 'url' in place && mayBePublicHost(new URL(place.url)) ? place.url : undefined
}

/**
 * Reads a list in bounded time and size. Redirects are not followed.
 * @param catalogPath the path that the paths of files are relative to
 * @throws PriceListError; CallError where the address does not answer
 */
export async function readList(list: CatalogPriceList, catalogPath: string, limits: CatalogLimits): Promise<ReadList> {
  const { place, prefix, server } = list
  const body = 'url' in place ? await fetched(place.url, server, limits) : await readOf(place.file, catalogPath, limits)
  const models = readPriceList(body, prefix, limits)
  if (models === undefined) throw new PriceListError('it is no list of models: {"data":[{"id":...,"pricing":{...}}]}')
  return { models, sha256: createHash('sha256').update(body).digest('hex') }
}

/** The operator has named the host, so that it may be a private one. No key is sent: the list is public. */
async function fetched(url: string, server: StatedReach, limits: CatalogLimits): Promise<Buffer> {
  const { reach, isClosed } = reachOfAddress(new URL(url), server, freshReads(process.env))
  if (isClosed) throw new PriceListError('the proxy or the certificates of the provider cannot be read')
  const { status, body } = await callHttp({
    method: 'GET',
    url: new URL(url),
    headers: { accept: 'application/json' },
    timeoutMs: limits.priceListTimeoutMs,
    answerBytesMax: limits.priceListBytesMax,
    allowPrivate: true,
    reach,
  })
  if (status !== 200) throw new PriceListError(`it was answered with ${status}, not with 200`)
  return body
}

async function readOf(file: string, catalogPath: string, limits: CatalogLimits): Promise<Buffer> {
  const path = resolve(dirname(catalogPath), file)
  const found = await stat(path).catch((error: Error) => {
    throw new PriceListError(`it cannot be read: ${error.message}`)
  })
  if (!found.isFile()) throw new PriceListError('it is no file')
  if (found.size > limits.priceListBytesMax) throw new PriceListError('it is too large')
  return readFile(path)
}
