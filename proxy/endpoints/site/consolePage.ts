import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Handler, HeaderList } from '../../server/exchange.ts'

/** Where the build puts the page and its files. */
const BUILT = fileURLToPath(new URL('../../../console/static', import.meta.url))
const PAGE = 'index.html'
const ROOT = '/console'
const COMPRESSED = '.gz'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Names with a hash of the content: their content never changes. */
const HASHED = /-[\w-]{8}\.(?:js|css)$/
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

interface StaticFile {
  readonly type: string
  readonly body: Buffer
  readonly etag: string
  readonly headers: HeaderList
}

/**
 * Serves the console: GET /console and what is below it. All files are read once, here. Paths without a file are pages, which the
 * program in the page tells apart.
 * @param folder of the built files; where it is missing the answer is 404
 */
export function consoleHandler(folder: string = BUILT): Handler {
  const files = existsSync(join(folder, PAGE)) ? readFiles(folder) : new Map<string, StaticFile>()
  return (exchange) => {
    const { path, ifNoneMatch } = exchange.head
    const name = path.slice(ROOT.length + 1)
    const file = files.get(name) ?? (extname(name) === '' ? files.get(PAGE) : undefined)
    if (file === undefined) throw new GatewayError('not_found')
    exchange.answer(ifNoneMatch.includes(file.etag) ? 304 : 200, file.type, file.body, file.headers)
  }
}

function readFiles(folder: string): Map<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const name = posix.normalize(entry.replaceAll('\\', '/'))
    const ending = extname(name)
    const type = TYPES[ending]
    if (type !== undefined) files.set(name, readFile(folder, name, type))
  }
  return files
}

/** Every browser reads gzip, so that the request is not asked what it accepts; the page itself is small and sent as it is. */
function readFile(folder: string, name: string, type: string): StaticFile {
  const compressed = join(folder, name + COMPRESSED)
  const isCompressed = existsSync(compressed)
  const body = readFileSync(isCompressed ? compressed : join(folder, name))
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const headers = [
    'cache-control',
    HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'etag',
    etag,
    'x-content-type-options',
    'nosniff',
    ...(isCompressed ? ['content-encoding', 'gzip'] : []),
    ...(name === PAGE
      ? [
          'content-security-policy',
          POLICY,
          'referrer-policy',
          'no-referrer',
          'cross-origin-opener-policy',
          'same-origin',
        ]
      : []),
  ]
  return { type, body, etag, headers }
}
