// Builds the console: types of the public API from the OpenAPI document, its check by tsc, and static files by Vite, each also
// compressed. It does nothing where no source has changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'

/** The sources of the files; the last two decide the OpenAPI document and the versions of the packages. */
const INPUTS = [
  'console',
  'verifier',
  'contract',
  'proxy/endpoints/openapi',
  'scripts/console.mjs',
  'package-lock.json',
]
const READ = /\.(tsx?|css|html|svg|json|mjs)$/
const COMPRESSED = /\.(js|css|svg)$/
/** Vite needs it; the other programs run with an older one. */
const NODE_LEAST = [20, 19]

function filesOf(root, input) {
  if (/\.\w+$/.test(input)) return [input]
  return readdirSync(join(root, input), { recursive: true })
    .map((entry) => `${input}/${entry}`)
    .filter((path) => READ.test(path) && !path.includes('/generated/'))
    .sort()
}

function hashOfInputs(root) {
  const hash = createHash('sha256')
  for (const path of INPUTS.flatMap((input) => filesOf(root, input))) {
    hash.update(path).update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}

/** The types of the public API, from the document that the compiled proxy serves. */
async function writeTypes(root) {
  const { openapiDocument } = await import('../dist/proxy/endpoints/openapi/document.js')
  const { readLimits } = await import('../dist/proxy/limits.js')
  const { servedRoutes } = await import('../dist/proxy/servedRoutes.js')
  const { default: openapiTypescript } = await import('openapi-typescript')
  const served = servedRoutes().map((name) => {
    const [method, path] = name.split(' ')
    return { method, path }
  })
  const types = await openapiTypescript(openapiDocument(served, readLimits(undefined)))
  const path = join(root, 'console/api/generated/openapi.d.ts')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, types)
}

async function bundle(root, out) {
  const { build } = await import('vite')
  await build({
    configFile: false,
    root: join(root, 'console'),
    base: '/console/',
    logLevel: 'warn',
    build: {
      outDir: out,
      emptyOutDir: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // Of the packages whose code is in the files.
      license: { fileName: 'licenses.md' },
      reportCompressedSize: false,
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  })
}

function compress(out) {
  for (const entry of readdirSync(out, { recursive: true })) {
    if (!COMPRESSED.test(entry)) continue
    const path = join(out, entry)
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: constants.Z_BEST_COMPRESSION }))
  }
}

/** Whether this Node.js runs Vite. */
function canBuild() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > NODE_LEAST[0] || (major === NODE_LEAST[0] && minor >= NODE_LEAST[1])
}

/**
 * Builds dist/console/static where its sources have changed.
 * @param {string} root of the project, compiled to dist/
 * @returns {Promise<boolean>} whether it is sound
 */
export async function buildConsole(root) {
  const out = join(root, 'dist/console/static')
  const stamp = join(root, 'dist/console/inputs.txt')
  const hash = hashOfInputs(root)
  if (existsSync(join(out, 'index.html')) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return true
  if (!canBuild()) {
    console.error(`The console is left out: Node.js ${NODE_LEAST.join('.')} or newer builds it.`)
    return true
  }
  await writeTypes(root)
  const checked = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'console/tsconfig.json'], {
    cwd: root,
    stdio: 'inherit',
  })
  if (checked.status !== 0) return false
  await bundle(root, out)
  compress(out)
  writeFileSync(stamp, hash)
  return true
}
