// Compares the native code of the installed packages with the record of native-code.json.
// Usage: node scripts/native-code.mjs [--upstream | FOLDER]; --upstream compares the record with the releases of who builds the code.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Per file of native code: the package and the version that have it, its SHA-256, and where its builder published it. */
export const RECORD = JSON.parse(readFileSync(new URL('native-code.json', import.meta.url), 'utf8'))
const PACKAGE = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Files of native code below a folder, by their paths in it; packages within the package are not its own. */
export function nativeFiles(folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true }).map((entry) => entry.replaceAll('\\', '/'))
  return entries.filter((entry) => entry.endsWith('.node') && !entry.includes('node_modules/'))
}

/** The packages that npm has installed in a folder: path, name and version of each. */
export function installedPackages(folder) {
  const { packages = {} } = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
  return Object.entries(packages).map(([path, { name, version }]) => ({
    path,
    name: name ?? PACKAGE.exec(path)?.[1] ?? path,
    version,
  }))
}

/**
 * A package whose version is not on record passes: there are no checksums of it for this platform.
 * @param folder whose node_modules is read
 * @returns a sentence for each file that is not the recorded one
 */
export function nativeCodeFaults(folder, record = RECORD) {
  const faults = []
  for (const { path, name, version } of installedPackages(folder)) {
    const known = record.filter((row) => row.package === name && row.version === version)
    for (const row of known) {
      const file = join(folder, path, row.file)
      if (existsSync(file) && sha256(readFileSync(file)) !== row.sha256) {
        faults.push(`${path}/${row.file} is not the file that scripts/native-code.json has on record: do not run it`)
      }
    }
  }
  return faults
}

async function fetchFile({ repository, file }, tag) {
  const response = await fetch(`https://raw.githubusercontent.com/${repository}/${tag}/${file}`)
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`${repository} ${tag} ${file}: status ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

/** @returns a sentence for each row whose file is in none of the releases that it names */
async function upstreamFaults() {
  const faults = []
  for (const { package: name, version, sha256: recorded, upstream } of RECORD) {
    if (upstream === undefined) continue
    let match
    for (const tag of upstream.tags) {
      const bytes = await fetchFile(upstream, tag)
      if (bytes !== undefined && sha256(bytes) === recorded) match = tag
    }
    if (match === undefined) faults.push(`${name} ${version}: its code is in none of ${upstream.tags.join(', ')}`)
    else console.log(`${name} ${version}: ${upstream.file} of ${match}`)
  }
  return faults
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [argument] = process.argv.slice(2)
  const root = fileURLToPath(new URL('..', import.meta.url))
  const faults = argument === '--upstream' ? await upstreamFaults() : nativeCodeFaults(argument ?? root)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
