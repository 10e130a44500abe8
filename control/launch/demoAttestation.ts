/** The root of the mock provider's evidence. Its private key is public, so its signatures prove nothing. */
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

/** The measurements of the mock provider's machine, in hex. */
export const DEMO_MEASUREMENTS = { mrtd: '11'.repeat(48), rtmr3: '33'.repeat(48) } as const
