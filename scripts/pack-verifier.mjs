// Builds the package of the verifier from its sources and packs it: node scripts/pack-verifier.mjs FOLDER
// The same sources, compiler and npm make the same bytes, whenever and wherever: so anybody can check a published package.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
const verifier = join(root, 'verifier')

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 2], ...options })
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${done.stdout}`)
  return done.stdout
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Compiles the sources into a folder, without a trace of where or when. */
function build(folder) {
  const config = join(folder, 'tsconfig.json')
  const tsc = join(root, 'node_modules/.bin/tsc')
  const compilerOptions = {
    rootDir: verifier,
    outDir: folder,
    sourceMap: false,
    incremental: false,
    tsBuildInfoFile: null,
  }
  const typeRoots = [join(root, 'node_modules/@types')]
  const options = { ...compilerOptions, typeRoots }
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions: options, include: [`${verifier}/*.ts`] }),
  )
  run(tsc, ['-p', config])
  run(tsc, ['-p', join(verifier, 'tsconfig.json'), '--outDir', folder])
  rmSync(config)
  for (const file of ['package.json', 'README.md']) cpSync(join(verifier, file), join(folder, file))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

/**
 * @param {string} target folder that the package is written to
 * @returns its file name, its SHA-256, and that of the archive within, which does not depend on how it is compressed
 */
export function packVerifier(target) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-verify-'))
  try {
    build(folder)
    const args = ['pack', folder, '--pack-destination', resolve(target), '--json', '--ignore-scripts']
    const packed = Object.values(JSON.parse(run('npm', args, { cwd: folder })))[0]
    const bytes = readFileSync(join(target, packed.filename))
    return { file: packed.filename, sha256: sha256(bytes), archiveSha256: sha256(gunzipSync(bytes)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { file, sha256: packed, archiveSha256 } = packVerifier(process.argv[2] ?? '.')
  console.log(`${packed}  ${file}\n${archiveSha256}  ${file.replace(/\.tgz$/, '.tar')}`)
}
