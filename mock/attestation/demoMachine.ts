import { Authority } from './authority.ts'
import { TdxMachine } from './tdxMachine.ts'

/**
 * The root of the evidence that the mock provider makes. Its private key is public, so its signatures prove nothing; a
 * catalog trusts it by its `test_root`.
 */
export const DEMO_ROOT = `-----BEGIN CERTIFICATE-----
MIIBfDCCASKgAwIBAgINATg5DjMXIHNwq8nQYDAKBggqhkjOPQQDAjA3MTUwMwYD
VQQDDCxTbHVpY2UgZGVtbyBhdHRlc3RhdGlvbiByb290OiBwcm92ZXMgbm90aGlu
ZzAeFw0yNjAxMDEwMDAwMDBaFw00OTEyMzEwMDAwMDBaMDcxNTAzBgNVBAMMLFNs
dWljZSBkZW1vIGF0dGVzdGF0aW9uIHJvb3Q6IHByb3ZlcyBub3RoaW5nMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEC5M+kYl/1XytMBX+QqckeVo8R+ZMs72FQTaF
i3Vb6Mwmqbs3l3sd8EC91Fl+sIxwHRaSOq/Yaev2Rj4+QwU9+KMTMBEwDwYDVR0T
AQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBTo+eBIqI+tmTc4hHvVto67FT8
ro03xoAvg//l87mGYQIhANuwsxPGG7PLp2HEeqKN7lZyFQ0a84aYnfvODJKwqzW7
-----END CERTIFICATE-----
`
/** The key of DEMO_ROOT. It protects nothing. */
const DEMO_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp7NEZ7PUJlNEXJCE
0WgrAualO2YoRE50EUTW7crGSJihRANCAAQLkz6RiX/VfK0wFf5CpyR5WjxH5kyz
vYVBNoWLdVvozCapuzeXex3wQL3UWX6wjHAdFpI6r9hp6/ZGPj5DBT34
-----END PRIVATE KEY-----
`
const DEMO_NAME = 'Sluice demo attestation root: proves nothing'

/** The root of the mock's evidence, with its key. */
function demoAuthority(): Authority {
  return Authority.kept(DEMO_NAME, DEMO_KEY, DEMO_ROOT)
}

/** A machine whose evidence is of the layout of a real one and rests on DEMO_ROOT. */
export function demoMachine(): TdxMachine {
  return new TdxMachine(demoAuthority())
}
