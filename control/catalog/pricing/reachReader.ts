import { NO_PROXY } from '../../../contract/providers/reach.ts'
import type { TlsFiles } from '../../../contract/providers/tlsContexts.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { ProviderContent } from './catalogContent.ts'

/** The proxy of a provider, and where its user and password are. */
export interface StatedProxy {
  /** Its address, or NO_PROXY. */
  readonly url: string
  readonly env: string
  readonly file: string
}

/** How a provider that fits its schema is reached; other errors are recorded on the file. */
export function readReach(
  file: YamlFile,
  path: Path,
  { base_url: baseUrl, proxy, ca_file: caFile = '', cert_file: certFile = '', key_file: keyFile = '' }: ProviderContent,
): TlsFiles & { readonly proxy?: StatedProxy } {
  if ((certFile === '') !== (keyFile === '')) {
    file.problem([...path, certFile === '' ? 'key_file' : 'cert_file'], 'needs cert_file and key_file together')
  }
  if (caFile + certFile !== '' && !baseUrl.startsWith('https:')) {
    file.problem([...path, caFile === '' ? 'cert_file' : 'ca_file'], 'is for a base_url of https://')
  }
  const files = { caFile, certFile, keyFile }
  if (proxy === undefined) return files
  const { url, env = '', file: secret = '' } = proxy
  if (env !== '' && secret !== '') file.problem([...path, 'proxy'], 'must have env or file, not both')
  if (url === NO_PROXY && env + secret !== '')
    file.problem([...path, 'proxy'], 'has no user and password without a proxy')
  return { ...files, proxy: { url, env, file: secret } }
}
