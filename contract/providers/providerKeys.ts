import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { NO_QUOTA, type Quota } from '../catalog/quota.ts'
import { sluice } from '../wire/generated/messages.js'

/** The id of the key that `api_key_env` names. */
export const SOLE_KEY = 'default'
const FILE_BYTES_MAX = 16_384
const PEM_BYTES_MAX = 1_048_576
/** The characters that a header can carry. */
const SECRET = /^[\x21-\x7e]+$/

/** A key of a provider as the catalog lists it, with the quota that its provider gives it. The secret itself is never in the catalog. */
export interface ListedKey extends Quota {
  readonly id: string
  /** The environment variable with the secret; '' for a key in a file. */
  readonly env: string
  /** The path of the file with the secret; '' for a key in the environment. */
  readonly file: string
  /** Its share of the requests, beside the weights of the provider's other keys. */
  readonly weight: number
  /** The provider's own names of the models that it serves; none is all of them. */
  readonly models: readonly string[]
}

/** Where a secret is. */
export type KeySource = Pick<ListedKey, 'env' | 'file'>

/** A secret that was read; `text` is '' where nothing can be read, and `fault` says why. */
export interface Secret {
  readonly text: string
  readonly fault: string
}

/** The list of one key that `api_key_env` stands for; none for a provider that takes no key. */
export function soleKey(env: string): readonly ListedKey[] {
  return env === '' ? [] : [{ id: SOLE_KEY, env, file: '', weight: 1, models: [], ...NO_QUOTA }]
}

/** The keys of a provider of the catalog in force; none for one that takes no key. */
export function listedKeys(record: sluice.ProviderRecord.$Properties): readonly ListedKey[] {
  const { apiKeyEnv, keys } = sluice.ProviderRecord.create(record)
  if (keys.length === 0) return soleKey(apiKeyEnv)
  return keys.map((bare) => {
    const { id, env, file, weight, models, requestsPerMinute, tokensPerMinute, parallel } =
      sluice.ProviderKeyRecord.create(bare)
    return { id, env, file, weight, models, requestsPerMinute, tokensPerMinute, parallel }
  })
}

/** Whether the key may be used for a model, by the provider's own name of it. */
export function servesModel({ models }: Pick<ListedKey, 'models'>, upstreamModel: string): boolean {
  return models.length === 0 || models.includes(upstreamModel)
}

/** Reads a secret from where it is now: secret stores replace their files, and links to them. */
export function readSecret({ env, file }: KeySource, environment: NodeJS.ProcessEnv): Secret {
  if (file === '') {
    const text = (environment[env] ?? '').trim()
    return { text, fault: text === '' ? 'not set' : '' }
  }
  return readText(file, FILE_BYTES_MAX, secretOf)
}

/** Reads a file of certificates or of a key as PEM, which is not checked. */
export function readPem(file: string): Secret {
  return readText(file, PEM_BYTES_MAX, pemOf)
}

function readText(file: string, bytesMax: number, textOf: (content: Buffer) => Secret): Secret {
  try {
    const content = readStart(file, bytesMax)
    return content.length > bytesMax ? { text: '', fault: 'too long' } : textOf(content)
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
    return { text: '', fault: typeof code === 'string' ? code : 'unreadable' }
  }
}

/**
 * The secret that a service uses which needs one key: that of the first key that can be read.
 * @param upstreamModel of which it has to be a key; absent is any
 * @returns '' for a provider that takes no key; undefined where none of its keys can be read
 */
export function firstSecret(
  record: sluice.ProviderRecord.$Properties,
  environment: NodeJS.ProcessEnv,
  upstreamModel?: string,
): string | undefined {
  const keys = listedKeys(record)
  if (keys.length === 0) return ''
  for (const key of keys) {
    if (upstreamModel !== undefined && !servesModel(key, upstreamModel)) continue
    const { text } = readSecret(key, environment)
    if (text !== '') return text
  }
  return undefined
}

/** The secret of a file that has nothing else. */
function secretOf(content: Buffer): Secret {
  const text = content.toString('latin1').trim()
  if (text === '') return { text, fault: 'empty' }
  return SECRET.test(text) ? { text, fault: '' } : { text: '', fault: 'not a key on one line' }
}

function pemOf(content: Buffer): Secret {
  const text = content.toString('latin1')
  return text.trim() === '' ? { text: '', fault: 'empty' } : { text, fault: '' }
}

/** The file's content, or the beginning of one that is too long. Anything but a file, such as a pipe, could be waited for forever. */
function readStart(path: string, bytesMax: number): Buffer {
  const handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(handle).isFile()) throw Object.assign(new Error('not a file'), { code: 'not a file' })
    const room = Buffer.alloc(bytesMax + 1)
    return room.subarray(0, readSync(handle, room, 0, room.length, 0))
  } finally {
    closeSync(handle)
  }
}
