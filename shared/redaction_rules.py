"""The catalogue of secret shapes, as data: what is masked, under which label, and which names and words decide.

Nothing here runs but a splitter of lists. A change of any row that changes what is masked needs a new CATALOGUE_VERSION,
because indexes made with the older one are then owed a reconcile. Most prefixes and lengths are those of gitleaks'
default rules; prefixes of newer providers are taken from common knowledge and were not checked against live tokens.
"""

from typing import NamedTuple

CATALOGUE_VERSION = "2026.12-2"


def words(text: str) -> tuple[str, ...]:
    """The words of a list that is written as text."""
    return tuple(text.split())



WORD = "word"  # letters, digits, _ and -
DOTTED = "dotted"  # words joined by single dots
BASE64 = "base64"  # words with + / . and closing =


class Family(NamedTuple):
    """Tokens that open with a fixed prefix. `least`: fewest characters after it; `exact`: how many there are when that is fixed.

    bounded: the prefix also occurs at the end of ordinary words (disk-, task-), so it must not follow a letter or digit,
    and what follows must look random.
    """

    label: str
    prefixes: str
    least: int
    exact: int | None = None
    body: str = WORD
    bounded: bool = False


FAMILIES = (
    Family("anthropic-key", "sk-ant-", 12),
    Family("openrouter-key", "sk-or-", 16),
    Family("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", 16),
    Family("api-key", "sk-", 12, bounded=True),
    Family("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", 12, 36, DOTTED),
    Family("github-token", "github_pat_", 16, 82),
    Family("gitlab-token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glagent- glimt- gloas- glffct- glwt-", 12, body=DOTTED),
    Family("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xoxe.xoxp- xoxe.xoxb-", 10, body=BASE64),
    Family("slack-token", "xapp- xwfp-", 10),
    Family("google-oauth", "GOCSPX-", 16),
    Family("google-oauth", "ya29.", 16, body=DOTTED),
    Family("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", 10, bounded=True),
    Family("webhook-secret", "whsec_", 16, body=BASE64),
    Family("npm-token", "npm_", 20, 36, bounded=True),
    Family("pypi-token", "pypi-AgE", 20),
    Family("hugging-face-token", "hf_ api_org_", 20, bounded=True),
    Family("sendgrid-key", "SG.", 20, body=DOTTED, bounded=True),
    Family("brevo-key", "xkeysib- xsmtpsib-", 20),
    Family("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", 16, 64),
    Family("linear-key", "lin_api_ lin_oauth_", 16, 40),
    Family("notion-token", "ntn_", 20, bounded=True),
    Family("notion-token", "secret_", 40, 43, bounded=True),
    Family("groq-key", "gsk_", 20, bounded=True),
    Family("xai-key", "xai-", 20, bounded=True),
    Family("replicate-token", "r8_", 20, bounded=True),
    Family("perplexity-key", "pplx-", 16),
    Family("nvidia-key", "nvapi-", 16),
    Family("tavily-key", "tvly-", 12),
    Family("firecrawl-key", "fc-", 32, bounded=True),
    Family("e2b-key", "e2b_", 24, bounded=True),
    Family("langsmith-key", "lsv2_pt_ lsv2_sk_ ls__", 20, bounded=True),
    Family("langfuse-key", "sk-lf-", 16),
    Family("jina-key", "jina_", 24),
    Family("voyage-key", "pa-", 40, bounded=True),
    Family("fireworks-key", "fw_", 20, bounded=True),
    Family("cerebras-key", "csk-", 20, bounded=True),
    Family("together-key", "tgp_v1_", 16),
    Family("elevenlabs-key", "sk_", 40, bounded=True),
    Family("mailgun-key", "key-", 32, 32, bounded=True),
    Family("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_ shprt_", 16, 32),
    Family("square-token", "sq0atp- sq0csp- sq0idp-", 16),
    Family("posthog-key", "phc_ phx_ phs_ pha_ phr_", 20, bounded=True),
    Family("supabase-key", "sbp_ sb_secret_ sbp_oauth_", 16, bounded=True),
    Family("vercel-token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", 16, bounded=True),
    Family("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", 20, bounded=True),
    Family("cloudflare-key", "v1.0-", 60, bounded=True),
    Family("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", 16, body=DOTTED),
    Family("vault-token", "hvs. hvb. hvr.", 16, bounded=True),
    Family("grafana-token", "glsa_ glc_", 16, body=BASE64),
    Family("new-relic-key", "NRAK- NRII- NRAA- NRRA- NRJS- NRIQ-", 16),
    Family("sentry-token", "sntrys_ sntryu_", 16, body=BASE64),
    Family("age-key", "AGE-SECRET-KEY-1", 20, 58),
    Family("age-key", "AGE-PLUGIN-", 20),
    Family("docker-token", "dckr_pat_ dckr_oat_", 12),
    Family("figma-token", "figd_ figo_ figor_", 16),
    Family("pulumi-token", "pul-", 20, 40, bounded=True),
    Family("rubygems-key", "rubygems_", 16, 48),
    Family("dropbox-token", "sl.", 40, body=DOTTED, bounded=True),
    Family("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", 16, body=DOTTED),
    Family("postman-key", "PMAK- PMAT-", 20),
    Family("prefect-key", "pnu_ pnb_", 20, bounded=True),
    Family("readme-key", "rdme_", 20),
    Family("scalingo-token", "tk-us-", 20, bounded=True),
    Family("shippo-token", "shippo_live_ shippo_test_", 16),
    Family("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", 16),
    Family("duffel-token", "duffel_live_ duffel_test_", 16),
    Family("dynatrace-token", "dt0c01. dt0s01. dt0s16.", 20, body=DOTTED),
    Family("flutterwave-key", "FLWSECK_TEST- FLWSECK- FLWSECK_", 12),
    Family("frameio-token", "fio-u-", 20),
    Family("fly-token", "fo1_", 30, bounded=True),
    Family("fly-token", "fm1a_ fm1r_ fm2_", 40, body=BASE64, bounded=True),
    Family("heroku-key", "HRKU-", 16),
    Family("infracost-token", "ico-", 32, bounded=True),
    Family("one-password-key", "A3-", 26, bounded=True),
    Family("one-password-token", "ops_eyJ", 40, body=BASE64),
    Family("adobe-secret", "p8e-", 20, bounded=True),
    Family("clojars-token", "CLOJARS_", 30),
    Family("contentful-token", "CFPAT-", 16),
    Family("octopus-key", "API-", 26, bounded=True),
    Family("defined-networking-key", "dnkey-", 26),
    Family("openshift-token", "sha256~", 40, 43),
    Family("tailscale-key", "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-", 8),
    Family("buildkite-token", "bkua_ bkpi_ bkaj_", 20),
    Family("circleci-token", "CCIPAT_ CCIPRJ_", 20),
    Family("sonar-token", "squ_ sqp_ sqa_", 20, 40, bounded=True),
    Family("snyk-token", "snyk_uat. snyk_sat.", 16, body=DOTTED),
    Family("typeform-token", "tfp_", 30, bounded=True),
    Family("mapbox-token", "sk.eyJ", 40, body=DOTTED, bounded=True),
    Family("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", 20),
    Family("resend-key", "re_", 20, bounded=True),
    Family("render-key", "rnd_", 20, bounded=True),
    Family("neon-key", "napi_", 24, bounded=True),
    Family("pinecone-key", "pcsk_", 16),
    Family("razorpay-key", "rzp_live_ rzp_test_", 12),
    Family("plaid-token", "access-sandbox- access-development- access-production-", 20),
    Family("polar-token", "polar_oat_ polar_pat_", 16),
    Family("weights-and-biases-key", "wandb_v1_", 16),
)

# Shapes without such a prefix. Each begins with the one rare character at which it is looked for; `(?<=` gives what stands before it.
SHAPES = (
    ("jwt", r"J(?<=eyJ)(?<![A-Za-z0-9_\-]eyJ)[A-Za-z0-9_\-]{5,}+(?:\.[A-Za-z0-9_\-]*+){1,4}+"),
    ("aws-access-key", r"K(?<=AK)IA[A-Z0-9]{12,}+"),
    ("aws-access-key", r"S(?<=AS)IA[A-Z0-9]{16,40}+(?![a-z])"),
    ("aws-access-key", r"B(?<=AB)IA[A-Z0-9]{16,40}+(?![a-z])"),
    ("google-api-key", r"I(?<=AI)za[A-Za-z0-9_\-]{20,}+"),
    ("atlassian-token", r"T(?<=AT)[ACS]TT3[A-Za-z0-9_\-=]{16,}+"),
    ("facebook-token", r"E(?<![A-Za-z0-9+/]E)(?=AA[A-Za-z0-9]{0,120}[0-9])AA[A-Za-z0-9]{40,}+"),
    ("square-token", r"E(?<![A-Za-z0-9+/]E)(?=AAA[A-Za-z])AAA[A-Za-z0-9_\-]{56,}+"),
    ("twilio-key", r"K(?<=SK)[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("twilio-sid", r"C(?<=AC)[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("alibaba-key", r"I(?<=LTAI)[A-Za-z0-9]{12,30}+(?![A-Za-z0-9])"),
    ("artifactory-key", r"K(?<=AK)Cp[A-Za-z0-9]{50,}+"),
    ("artifactory-token", r"V(?<=cmV)md[A-Za-z0-9]{50,}+"),
    ("private-key", r"L(?=S0tLS1CRUdJTi)[A-Za-z0-9+/]{60,}+={0,2}"),
    ("azure-client-secret", r"Q(?<=[0-9]Q)~[A-Za-z0-9_~.\-]{28,40}+"),
    ("nkey-seed", r"S(?=[UAO][A-Z2-7]{56}(?![A-Za-z0-9]))[A-Z2-7]{57}"),
    ("maxmind-key", r"_(?=mmk\b)(?<=[A-Za-z0-9]{29}_)mmk"),
    ("mailchimp-key", r"-(?=us[0-9])(?<=[0-9a-f]{32}-)us[0-9]{1,2}"),
    ("terraform-token", r"\.(?=atlasv1\.)(?<=[A-Za-z0-9]{14}\.)atlasv1\.[A-Za-z0-9_\-]{20,}+"),
    ("airtable-token", r"\.(?<=pat[A-Za-z0-9]{14}\.)[0-9a-f]{32,}+"),
    ("discord-token", r"\.(?=[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27})(?<=[A-Za-z0-9_\-]{23}\.)[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}+"),
    ("harness-token", r"\.(?<=[ps]at\.)[A-Za-z0-9_\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("databricks-token", r"p(?<=dap)i[0-9a-f]{32}(?:-[0-9])?(?![0-9A-Za-z])"),
    ("crates-token", r"c(?<![A-Za-z0-9]c)io[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("nostr-key", r"c(?<=nsec)1[02-9ac-hj-np-z]{50,}+"),
    ("telegram-token", r":(?<=[0-9]{8}:)AA[A-Za-z0-9_\-]{30,}+"),
    ("bitcoin-key", r"p(?<=[xyz]p)rv[1-9A-HJ-NP-Za-km-z]{80,}+"),
    ("nuget-key", r"y(?<=oy)2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("google-refresh-token", r"/(?<=1/)/0[A-Za-z0-9_\-]{30,}+"),
    ("gitlab-token", r"R(?<=GR)1348941[A-Za-z0-9_\-]{16,}+"),
    ("easypost-key", r"Z(?<=EZ)[AT]K[A-Za-z0-9]{40,}+"),
)

# Names of things whose value is a secret; a name is split at _ - . and at humps, and its last parts decide.
PASSWORD_PARTS = words(
    """
    password passwd pwd pw pass passphrase passcode passwort pswd psswd userpass dbpass mypass rootpass adminpass sudopass
    smtppass contraseña motdepasse mnemonic passwords pword dbpw psk ppk keypass storepass
    """
)
PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "passwort", "passcode")
SECRET_PARTS = words(
    """
    secret token apikey accesskey secretkey privatekey authkey authtoken accesstoken refreshtoken apitoken bearer jwt pat
    clientsecret appsecret apisecret signingkey encryptionkey masterkey credential authorization signature sig otp totp
    sharedsecret idtoken sessiontoken webhooksecret cookiesecret secretstring sastoken deploykey servicekey licensekey
    """
)
SECRET_ENDINGS = ("secret", "apikey", "token", "secretkey", "accesskey", "privatekey")
WEAK_PARTS = words(
    """
    key auth tokens secrets credentials creds cookie session sid nonce salt seed pin code passes cred
    """
)
KEY_QUALIFIERS = words(
    """
    api secret access private auth encryption encrypt signing sign master service account storage shared subscription app
    application admin client consumer deploy ssh webhook hmac aes jwt license licence security crypto cipher kms vault rest sdk
    integration ingest write management server bot developer dev rsa ecdsa ed25519 pgp gpg tls ssl recovery activation sas hmac256
    hook decryption validation django flask rails openai anthropic stripe google github aws azure gcp twilio sendgrid datadog
    algolia mapbox cohere mistral groq deepseek gemini openrouter huggingface pinecone resend supabase
    """
)
NEUTRAL_TAILS = words(
    """
    value val b64 base64 prod production dev staging live test plain plaintext text raw current new old default primary secondary
    main backup string str env data hex 1 2 3 4 0 01 02 v1 v2 v3
    """
)
HARMLESS_PARTS = words(
    """
    max min num count total prompt completion input output stop pad eos bos unk sep cls mask special page prev continuation cursor
    public primary foreign cache sort partition idempotency host hot dictionary map object group keyboard routing row column index
    unique composite natural surrogate candidate translation i18n lookup registry property config setting json yaml dict hash
    field limit limits usage budget length len size type kind name id ids url uri path file dir expiry expires expiration ttl
    enabled required rotation policy ref reference class reset forgot show hide has is use needs strength hint label placeholder
    syntax lex lexer parser first last per sampled remaining used author authors csrf xsrf pubkey react event shortcut arrow press
    down up hotkey rate cost price avg mean context window vocab
    """
)
# Words that, right before a random run of 16 or more characters, say that it is a secret: kinds of secrets, and providers whose
# keys have no form of their own.
NEARBY_WORDS = words(
    """
    pat psk salt pepper nonce signature sig jwt hmac otp totp seed mnemonic private credential credentials creds secret secrets
    token apikey api key access auth login passkey license licence dsn webhook password passwd pwd pass passphrase securestring
    bearer bot sid cookie sessionid cert pem otpauth mfa recovery unlock enc encryption decrypt cipher
    signing adafruit algolia alibaba amplitude asana auth0 bitbucket bitly braintree branch bugsnag buildkite circleci clickup
    cloudinary cloudflare cohere coinbase contentful coveralls codecov datadog deepgram deepseek discord dropbox elastic etsy
    eventbrite facebook fastly finnhub firebase flickr foursquare freshdesk gemini github gitlab gitter giphy heroku hubspot
    intercom ipinfo jenkins jira jfrog klaviyo kraken kucoin launchdarkly linkedin lob loggly mailchimp mailgun mandrill mapbox
    mattermost messagebird mistral mixpanel netlify newrelic nytimes okta onesignal openai opsgenie pagerduty paypal pingdom
    pipedrive plaid plivo postmark pusher quay rapidapi reddit rollbar segment sendbird sendgrid sentry shodan snyk sonarcloud
    spotify square sumologic telegram todoist travis trello twilio twitch twitter typeform unsplash vercel virustotal vonage
    wakatime weatherapi webex yandex zapier zendesk zoho zoom
    """
)
# Values that stand for a secret and are none.
STOP_WORDS = words(
    """
    string str none null nil undefined true false required optional bytes int integer number any text password passwd pass pwd
    secret token key secrets tokens keys value values changeme change-me change_me example placeholder todo tbd fixme redacted
    masked hidden omitted empty unset missing invalid valid expired wrong correct incorrect set unknown default disabled enabled
    yes no on off not the a an is was be must should can will for with from into that this it in of and or but to by as at if when
    username user email login auth bearer basic apikey api_key api-key access_token refresh_token id_token client_secret client_id
    authorization_code prompt env vault keychain self field boolean object array float double char varchar securestring secretstr
    test testing foo bar baz foobar dummy sample hashed encrypted plaintext plain stored generated needed found here there
    yourpassword yoursecret yourtoken yourkey yourapikey mypassword mysecret mytoken const let var function async await return new
    class type interface only also both either every each all
    """
)
SCHEMES = words(
    """
    bearer basic token apikey api-key key digest negotiate ntlm oauth dpop ssws geniekey splunk hawk bot vapid klaviyo-api-key
    deepl-auth-key
    """
)
# Commands whose short flag takes a secret: command, flag, whether the value may follow without a space, whether it is user:secret.
COMMAND_FLAGS = (
    (r"(?:mysql|mariadb)(?:dump|admin|import|show|pump|-dump)?", "p", "glued", ""),
    (r"sshpass", "p", "either", ""),
    (r"(?:docker|podman|nerdctl|helm|oras|skopeo|buildah|crane|az|oc|npm|acr|cf|ibmcloud)\b[^\n|;&]{0,120}\blogin", "p", "apart", ""),
    (r"(?:twine|mongo(?:sh|dump|restore|export|import)?|cqlsh|rabbitmqadmin|rdesktop|snowsql|influx|couchbase-cli)", "p", "apart", ""),
    (r"(?:sqlcmd|bcp|mosquitto_pub|mosquitto_sub|ipmitool|isql|osql)", "P", "either", ""),
    (r"(?:redis-cli|ipmitool|valkey-cli)", "a", "apart", ""),
    (r"(?:curl|http|https|xh|wget)", "u", "either", ":"),
    (r"curl", "U", "either", ":"),
    (r"(?:smbclient|rpcclient|net)", "U", "either", "%"),
    (r"ldap(?:search|add|modify|whoami|passwd|delete|compare)", "w", "apart", ""),
    (r"(?:kinit|zip|unzip|ssh-keygen)", "P", "either", ""),
    (r"ssh-keygen", "N", "apart", ""),
    (r"openssl", "k", "apart", ""),
)  # fmt: skip

# Issuers of cards by first digits, and the lengths they use.
CARD_ISSUERS = (
    (r"4", (13, 16, 19)),
    (r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", (16,)),
    (r"3[47]", (15,)),
    (r"6011|65|64[4-9]", (16, 19)),
    (r"35(?:2[89]|[3-8])", (16, 19)),
    (r"30[0-5]|36|38|39", (14, 16)),
    (r"62", (16, 17, 18, 19)),
    (r"220[0-4]", (16,)),
)
