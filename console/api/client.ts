import { credential } from '../state/session.ts'
import { ApiError, errorOf } from './apiError.ts'
import type { components, paths } from './generated/openapi.d.ts'

export type Shapes = components['schemas']
export type Shape<Name extends keyof Shapes> = Shapes[Name]

type Get = { [Path in keyof paths]: paths[Path] extends { get: unknown } ? Path : never }[keyof paths]
type Json<Operation> = Operation extends { responses: infer Answers }
  ? { [Status in keyof Answers & (200 | 201 | 202)]: JsonOf<Answers[Status]> }[keyof Answers & (200 | 201 | 202)]
  : never
type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never
type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } } ? Query : never
export type Read<Path extends keyof paths> = paths[Path] extends { get: infer Operation } ? Json<Operation> : never

interface Options {
  /** The values of {name} in the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

function target(path: string, params: Options['params'], query: object | undefined): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''))
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? filled : `${filled}?${text}`
}

/** The headers of a request by whoever is signed in. */
export function withCredential(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const token = credential.value?.token
  return token === undefined ? { ...more } : { authorization: `Bearer ${token}`, ...more }
}

/** Sends a request. @throws ApiError for every answer but a successful one, and where there is no answer */
export async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(
      0,
      null,
      'The gateway did not answer. Check that it runs and that you are online, then try again.',
    )
  }
  if (!response.ok) throw await errorOf(response)
  return response
}

/** Reads JSON of the public API. @throws ApiError */
export async function read<Path extends Get>(
  path: Path,
  query?: QueryOf<paths[Path] extends { get: infer Operation } ? Operation : never>,
  { params, signal }: Options = {},
): Promise<Read<Path>> {
  const init = { headers: withCredential(), ...(signal && { signal }) }
  const response = await send(target(path, params, query as object | undefined), init)
  return (await response.json()) as Read<Path>
}

/** Reads an answer as its text, which a proof needs byte by byte. @throws ApiError */
export async function readText(path: Get, params: Options['params'] = {}): Promise<string> {
  const response = await send(target(path, params, undefined), { headers: withCredential() })
  return response.text()
}

type Change = 'post' | 'patch' | 'delete'
type Changed<Path extends keyof paths, Method extends Change> =
  paths[Path] extends Record<Method, infer Operation> ? Json<Operation> : never

/** Changes something; it is done once, also where the answer is lost and the browser sends it again. @throws ApiError */
export async function change<Path extends keyof paths, Method extends Change>(
  method: Method,
  path: Path,
  body?: unknown,
  params: Options['params'] = {},
): Promise<Changed<Path, Method>> {
  const response = await send(target(path, params, undefined), {
    method: method.toUpperCase(),
    headers: withCredential({ 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Changed<Path, Method>
}
