// Builds dist/: protobuf code from its definitions, receipt code from its fields, TypeScript by tsc, the files tsc does not carry
// over, and the console.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './console.mjs'
import { writeReceiptCode } from './receiptFields.mjs'

const FOLDERS = ['contract', 'proxy', 'control', 'workers', 'verifier', 'mock', 'bench', 'test']
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const generatedDir = join(root, 'contract/wire/generated')
const OTLP = join(root, 'contract/wire/otlp')
/** The code that is made of definitions: its name, its root among those of the process, and the definition. */
const GENERATED = [
  { name: 'messages', space: 'sluice', proto: join(root, 'contract/wire/messages.proto') },
  {
    name: 'otlp',
    space: 'otlp',
    proto: join(OTLP, 'opentelemetry/proto/collector/trace/v1/trace_service.proto'),
    path: OTLP,
  },
]

function run(command, args) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (done.status !== 0) process.exit(done.status ?? 1)
}

function generateMessages({ name, space, proto, path }) {
  const generated = join(generatedDir, `${name}.js`)
  if (existsSync(generated) && statSync(generated).mtimeMs > statSync(proto).mtimeMs) return
  mkdirSync(generatedDir, { recursive: true })
  const flags = ['--force-number', '--no-verify', '--no-convert', '--no-delimited', '--no-service', '--no-typeurl']
  run(join(root, 'node_modules/.bin/pbjs'), [
    '-t',
    'static-module',
    '-w',
    'esm',
    '-r',
    space,
    '--dts',
    '-o',
    generated,
    ...flags,
    ...(path === undefined ? [] : ['-p', path]),
    proto,
  ])
  useNumbers(generated)
}

/**
 * protobufjs decodes 64-bit integers into Long objects wherever the package `long` is installed, whatever its flags say
 * of the types. Every amount here is exact as a number, so the generated code switches that off before it sets up.
 */
function useNumbers(generated) {
  const code = readFileSync(generated, 'utf8')
  const imported = 'import $protobuf from "protobufjs/minimal.js";\n'
  if (!code.includes(imported)) throw new Error('pbjs changed the start of its output; see useNumbers in build.mjs')
  writeFileSync(generated, code.replace(imported, `${imported}$protobuf.util.Long = null;\n$protobuf.configure();\n`))
}

/** Copies the files with one of `endings` below `folder` to the same place in dist/. */
function copyAssets(folder, endings) {
  for (const entry of readdirSync(join(root, folder), { recursive: true })) {
    if (!endings.some((ending) => entry.endsWith(ending)) || isOfRoom(join(folder, entry))) continue
    const target = join(root, 'dist', folder, entry)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(root, folder, entry), target)
  }
}

/** Whether a file describes a room of the sources: those are not shipped, as the one of the verifier's package is. */
function isOfRoom(path) {
  return /^(proxy|control)\/.*\bREADME\.md$/.test(path)
}

/** Removes what was compiled from files that are gone, so that a deleted test does not go on running. */
function removeStale() {
  const dist = join(root, 'dist')
  for (const folder of FOLDERS) {
    if (!existsSync(join(dist, folder))) continue
    for (const entry of readdirSync(join(dist, folder), { recursive: true })) {
      const path = join(folder, entry)
      if (!/\.(m?js(\.map)?|d\.ts|sql)$/.test(path) || existsSync(join(root, path))) continue
      if (!existsSync(join(root, path.replace(/\.(js(\.map)?|d\.ts)$/, '.ts')))) rmSync(join(dist, path))
    }
  }
}

/** Writes the labels of the metric sluice_build_info. The build of an image has no git, and has the commit in BUILD_REVISION. */
function writeBuildInfo() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const git = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' })
  const revision = git.status === 0 ? git.stdout.trim() : (process.env.BUILD_REVISION ?? '')
  writeFileSync(join(root, 'dist/build.json'), `${JSON.stringify({ version, revision })}\n`)
}

for (const one of GENERATED) generateMessages(one)
writeReceiptCode(root)
if (process.argv.includes('--proto')) process.exit(0)
removeStale()
run(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json'])
writeBuildInfo()
copyAssets('contract', ['.lua', 'generated/messages.js', 'generated/otlp.js', '.schema.json'])
copyAssets('control', ['.lua', '.sql'])
copyAssets('contracts', ['.json'])
copyAssets('proxy', ['.md', '.txt', '.mjs'])
copyAssets('verifier', ['package.json', '.md'])
cpSync(join(root, 'LICENSE'), join(root, 'dist/verifier/LICENSE'))
// The types that the package is published with; this also fails where it is not fit for browsers.
run(join(root, 'node_modules/.bin/tsc'), ['-p', 'verifier/tsconfig.json'])
if (!(await buildConsole(root))) process.exit(1)
