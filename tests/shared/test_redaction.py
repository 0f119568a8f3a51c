"""Every family of secrets is masked, what only looks like one is kept, and neither costs more than its length."""

import json
import re
import time

import pytest

from shared import redaction_rules as rules
from shared.redaction import CATALOGUE_VERSION, Masked, mask

B62 = "7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5Qe0UfHgJkKoPiTrEyXz3Bn8Mw2Cv6Dq1Ls9Fa4Gh7Jb5"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KEY_LINES = "MIIEowIBAAKCAQEAuN1r7Pz0QmD3sYkE\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUA\n0Xw9Lk2Jh8Gf7Ds6Ap5Oi4Uy3Tr2Ew1Q"


def token_of(family: rules.Family, prefix: str) -> str:
    """A token as the family's provider would make one."""
    length = max(family.exact or 0, family.least, 16)
    return prefix + (B62 * 3)[:length]


EVERY_PREFIX = [(family, prefix) for family in rules.FAMILIES for prefix in family.prefixes.split()]


@pytest.mark.parametrize(("family", "prefix"), EVERY_PREFIX, ids=[prefix for _, prefix in EVERY_PREFIX])
def test_a_token_of_every_family_is_masked_under_its_label(family, prefix):
    token = token_of(family, prefix)

    masked = mask(f"use {token} for it")

    assert masked.text == f"use [redacted:{family.label}] for it"
    assert masked.spans == ((4, 4 + len(token)),)


# (text, what of it is secret, label)
SHAPES = [
    ("id eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.ZmFrZXNpZ25hdHVyZQ end", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.ZmFrZXNpZ25hdHVyZQ", "jwt"),
    ("id AKIAFAKEFAKEFAKE1234 end", "AKIAFAKEFAKEFAKE1234", "aws-access-key"),
    ("id ASIAFAKEFAKEFAKE1234 end", "ASIAFAKEFAKEFAKE1234", "aws-access-key"),
    (f"id AIza{B62[:35]} end", f"AIza{B62[:35]}", "google-api-key"),
    (f"id ATATT3{B62}{B62}=1A2B end", f"ATATT3{B62}{B62}=1A2B", "atlassian-token"),
    (f"id EAA{B62}{B62} end", f"EAA{B62}{B62}", "facebook-token"),
    (f"id SK{HEX[:32]} end", f"SK{HEX[:32]}", "twilio-key"),
    (f"id dapi{HEX[:32]} end", f"dapi{HEX[:32]}", "databricks-token"),
    (f"bot 123456789:AA{B62[:33]} end", f"123456789:AA{B62[:33]}", "telegram-token"),
    (f"bot MTE0NzYzMTIzNDU2Nzg5MDEy.GhIjKl.{B62[:38]} end", f"MTE0NzYzMTIzNDU2Nzg5MDEy.GhIjKl.{B62[:38]}", "discord-token"),
    (f"key {HEX[:32]}-us12 end", f"{HEX[:32]}-us12", "mailchimp-key"),
    (f"at patAbCdEfGhIjKl12.{HEX} end", f"patAbCdEfGhIjKl12.{HEX}", "airtable-token"),
    (f"tf AbCdEfGhIjKl12.atlasv1.{B62[:60]} end", f"AbCdEfGhIjKl12.atlasv1.{B62[:60]}", "terraform-token"),
    (f"az abc8Q~{B62[:34]} end", f"abc8Q~{B62[:34]}", "azure-client-secret"),
    (f"cargo cio{B62[:32]} end", f"cio{B62[:32]}", "crates-token"),
    (f"refresh 1//0{B62[:40]} end", f"1//0{B62[:40]}", "google-refresh-token"),
    ("https://hooks.slack.com/services/T0FAKE000/B0FAKE000/7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd end", "T0FAKE000/B0FAKE000/7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd", "webhook"),
    (f"https://discord.com/api/webhooks/123456789012345678/{B62[:68]} end", B62[:68], "webhook"),
    (f"https://acme.webhook.office.com/webhookb2/{HEX[:8]}-0001@{HEX[:8]}/IncomingWebhook/{HEX[:32]}/x1 end", HEX[:32], "webhook"),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----", KEY_LINES, "private-key"),
    (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_LINES}", KEY_LINES, "private-key"),
    (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{KEY_LINES}\n=aB1c\n-----END PGP PRIVATE KEY BLOCK-----", KEY_LINES, "private-key"),
    (json.dumps({"private_key": f"-----BEGIN PRIVATE KEY-----\n{KEY_LINES}\n-----END PRIVATE KEY-----\n"}), KEY_LINES.split("\n")[1], "private-key"),
    (f"{KEY_LINES}\n-----END PRIVATE KEY-----", KEY_LINES, "private-key"),
    ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVB", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt", "private-key"),
    ("pay with 4111 1111 1111 1111 now", "4111 1111 1111 1111", "card-number"),
    ("pay with 5555-5555-5555-4444 now", "5555-5555-5555-4444", "card-number"),
    ("amex 378282246310005", "378282246310005", "card-number"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret", "label"), SHAPES, ids=[f"{label}-{n}" for n, (_, _, label) in enumerate(SHAPES)])
def test_shapes_without_a_prefix_are_masked_under_their_label(text, secret, label):
    masked = mask(text)

    assert secret not in masked.text
    assert f"[redacted:{label}]" in masked.text
    assert len(masked.masks) == 1


# (text, what of it is secret)
NAMED = [
    ("Authorization: Bearer abc.def123", "abc.def123"),
    ("authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "dXNlcjpwYXNzd29yZDEyMw=="),
    ("{'Authorization': 'Token 9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b'}", "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"),
    ("curl -H 'Authorization: ApiKey VnVhQ2ZHY0JDZGJr' x", "VnVhQ2ZHY0JDZGJr"),
    ("send Bearer 5f4dcc3b5aa765d61d8327deb882cf99 along", "5f4dcc3b5aa765d61d8327deb882cf99"),
    ("X-Api-Key: 7d1c9a0e55f24b8c", "7d1c9a0e55f24b8c"),
    ("Cookie: session=abcd1234efgh5678; theme=dark", "abcd1234efgh5678"),
    ("Set-Cookie: sid=s%3AqWeRtY12345.zxcvb; Path=/; HttpOnly", "qWeRtY12345"),
    ("https://ci:t0psecret@git.example.com/r.git", "t0psecret"),
    ("https://7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5@git.example.com/r.git", "7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5"),
    ("postgres://app:S3cr3t@db/prod", "S3cr3t"),
    ("mongodb+srv://root:M0ng0Pass@cluster0.example.net/db", "M0ng0Pass"),
    ("redis://:p4ssw0rd@cache:6379/0", "p4ssw0rd"),
    ("amqp://guest:r4bb1t!@mq:5672/", "r4bb1t!"),
    ("mssql+pyodbc://sa:Pa/ss#w0rd@host/db", "Pa/ss#w0rd"),
    ("jdbc:postgresql://h/db?user=u&password=jdbcPa55", "jdbcPa55"),
    ("Server=db;User Id=sa;Password=Y0urStr0ng!Pass;Encrypt=True", "Y0urStr0ng!Pass"),
    ("AccountName=x;AccountKey=abcdEFGH0123456789+/abcdEFGH0123456789abcd==;EndpointSuffix=core", "abcdEFGH0123456789+/abcdEFGH0123456789abcd=="),
    ("https://x.blob.example.net/c?sv=2020&sig=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA%3D%3D&se=2025", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"),
    ("https://h/cb?access_token=EAAB9xyz7712kdkq81&x=1", "EAAB9xyz7712kdkq81"),
    ("API_KEY=abc123def456", "abc123def456"),
    ("export DB_PASSWORD='p@ss w0rd!'", "p@ss w0rd!"),
    ("PASSWORD=letmein", "letmein"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("AKIAFAKEFAKEFAKE1234,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ('{"accessToken": "a81hf02jf91hf8a7sdh2"}', "a81hf02jf91hf8a7sdh2"),
    (r'{"body":"{\"password\":\"zz91 kd0s8\"}"}', "zz91 kd0s8"),
    (r'"{\\\"client_secret\\\":\\\"m3n4b5v6c7x8\\\"}"', "m3n4b5v6c7x8"),
    ("client_secret: 9sJ2kL0pQw8eRt5y", "9sJ2kL0pQw8eRt5y"),
    ("db:\n  password: hunter\n  host: x", "hunter"),
    ("- name: DB_PASSWORD\n  value: k8sYaml99", "k8sYaml99"),
    ("kind: Secret\ndata:\n  password: MWYyZDFlMmU2N2Rm", "MWYyZDFlMmU2N2Rm"),
    ('{"auths": {"r.io": {"auth": "dXNlcjpwYXNzd29yZDEyMw=="}}}', "dXNlcjpwYXNzd29yZDEyMw=="),
    ("machine api.example.com login bob@x.io password c0ffee-1234-dead", "c0ffee-1234-dead"),
    ("//registry.npmjs.org/:_authToken=3f9c1a7e-0b2d-4c55-9e1f-77aa88bb99cc", "3f9c1a7e-0b2d-4c55-9e1f-77aa88bb99cc"),
    ("mysql -h db -uroot -pTr0ub4dor db1", "Tr0ub4dor"),
    ("sshpass -p 'Gh7!kLm2' ssh root@host", "Gh7!kLm2"),
    ("curl -u admin:s3cr3t https://x", "s3cr3t"),
    ("docker login -u ci -p dckr9xQ2m registry.io", "dckr9xQ2m"),
    ("tool --password hunter2x run", "hunter2x"),
    ("tool --token=abcd1234efgh", "abcd1234efgh"),
    ("redis-cli -h cache -a f00b4rPass99 ping", "f00b4rPass99"),
    ("echo 'deploy:Sup3rS3cr3t' | chpasswd", "Sup3rS3cr3t"),
    ("openssl enc -pass pass:Sw0rdfish -in a", "Sw0rdfish"),
    ("CREATE USER bob IDENTIFIED BY 'b0bSecret!';", "b0bSecret!"),
    ("ALTER ROLE app WITH PASSWORD 'zx81Spectrum';", "zx81Spectrum"),
    ("<password>W1nter2024</password>", "W1nter2024"),
    ('<add key="ApiSecret" value="q8Zt2LpW0sXv9RbN" />', "q8Zt2LpW0sXv9RbN"),
    ("define('DB_PASSWORD', 'wp_n0t_real');", "wp_n0t_real"),
    ("requests.get(u, auth=('bob', 'pyth0nPass'))", "pyth0nPass"),
    ("otpauth://totp/Acme:bob?secret=JBSWY3DPEHPK3PXP&issuer=Acme", "JBSWY3DPEHPK3PXP"),
    ("my password is hunter2!", "hunter2!"),
    ("**Password:** `Adm1nistrat0r`", "Adm1nistrat0r"),
    ("| password | S3cr3tTable |", "S3cr3tTable"),
    ("the secret key is: zK9x2mQw8pLr", "zK9x2mQw8pLr"),
    ("okta token 00aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-ab", "00aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789_-ab"),
    ("GITHUB_PAT = a1b2c3d4e5f6g7h8", "a1b2c3d4e5f6g7h8"),
    ("datadog 7c1e0f5b9d8a6c4e2f0b1d3a5c7e9fzq", "7c1e0f5b9d8a6c4e2f0b1d3a5c7e9fzq"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), NAMED, ids=[text[:40] for text, _ in NAMED])
def test_what_its_surroundings_call_a_secret_is_masked(text, secret):
    masked = mask(text)

    assert secret not in masked.text
    assert len(masked.masks) >= 1


KEPT = [
    # paths, ids, hashes, versions, numbers
    "/home/ada/projects/session-search/shared/store/__init__.py", "550e8400-e29b-41d4-a716-446655440000", "agent:ada:main",
    "session key agent:gull:9f8e7d6c5b4a39281706f5e4d3c2b1a0", "5d41402abc4b2a76b9719d911017c592", "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==", f"image: registry.io/app@sha256:{HEX}",
    "version 1.2.3-beta.4+build.567", "2024-01-15T10:15:00.000Z", "toolu_01XkzqWsbd3ej6dbUz5aUt4C", "color: #ff8800; background: #a1b2c3d4",
    "call +49 170 1234567 or 0800-555-1234", "order 1234567890123456", "4111 1111 1111 1112", "ISBN 978-3-16-148410-0", "trace_id=4bf92f3577b34da6a3ce929d0e0e4736",
    # references, calls and types
    "TOKEN=$TOKEN", "API_KEY=${API_KEY}", "getToken()", 'os.environ["API_KEY"]', "token = get_token()", "password: string", "password = getpass.getpass()",
    "password: process.env.DB_PASSWORD,", "api_key=os.getenv('KEY')", "password=config.password, host=h", "let password = user.password;", "secret: bytes = b''",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}", "headers={'Authorization': f'Bearer {token}'}", "Authorization: Bearer ${TOKEN}", "curl -u $USER:$PASS https://x",
    "postgresql://${DB_USER}:${DB_PASS}@db", "if (password === confirmPassword) return", "password_hash = bcrypt.hash(password)",
    # placeholders
    "api_key=<your-key>", "password=xxxx", "API_KEY=YOUR_API_KEY", "password: ***", "secret: ...", "DB_PASSWORD=changeme", "Authorization: Bearer <token>",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-ant-...", "AKIAXXXXXXXXXXXXXXXX", "postgres://user:password@localhost/db",
    # prose about secrets
    "the password is required", "token: the unit of text", "The secret to good soup is time", "Password must be at least 8 characters", "the bearer of bad news",
    "basic auth is enabled", "Unexpected token < in JSON at position 0", "API key: required", "the token is expired", "Cookie consent banner",
    # names that only look alike
    "max_tokens: 4096", "token_count=512", "primary_key=user_id", "cache_key = f'user:{id}'", "foreign key (user_id) references users(id)", "keyboard: qwerty",
    "secretName: db-credentials", "author: Bob Smith", "passed: 12, failed: 3", "PASS: test_login_2", "tokenizer: cl100k_base", "key=lambda x: x[1]",
    "access_token_expires_in: 3600", "--password-file /run/secrets/db", "public_key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7", "('PASS', 'FAIL')",
    # words that begin like a token
    "pip install scikit-learn sk-learn", 'class="sk-button-primary-large"', "task-1234567890abcdef-run", "disk-9f86d081884c7d65", "hf_hub_download(repo_id='x')",
    "npm_config_registry=https://registry.npmjs.org", "sk-2024-report-final-version-two", "claude-3-5-sonnet-20241022",
    # commands and addresses without secrets
    "docker run -p 8080:80 nginx", "ssh -p 2222 root@host", "mkdir -p src/a && cp -a x y", "git push -u origin main", "mysql -u root -p", "https://host:8080/a@b",
    "git@github.com:org/repo.git", "http://user@example.com", "redis://localhost:6379/0",
    # encodings
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "abcdefghijklmnopqrstuvwxyz0123456789",
    '{"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPo2nICAAPSAgeRwV1aAAAAAElFTkSuQmCC"}',
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ", "if '-----BEGIN PRIVATE KEY-----' in text:",
]  # fmt: skip


@pytest.mark.parametrize("text", KEPT, ids=[text[:40] for text in KEPT])
def test_what_is_no_secret_stays_as_it_is(text):
    assert mask(text) == Masked(text)


# Everyday spellings that no rule names one by one. The rules were tuned with these in view, so this holds recall; it does not estimate it.
EVERYDAY = [
    ("ansible_become_pass: r00tMe", "r00tMe"), ("SMTP_PASS=mail9er", "mail9er"), ("snowflake_password: 'Sn0wfl@ke'", "Sn0wfl@ke"), ("login: admin, password: Qwerty!23", "Qwerty!23"),
    ("signing_secret=8f742231b10e8888abcd99yyyzzz85a5", "8f742231b10e8888abcd99yyyzzz85a5"), ("wpa_passphrase=MyHomeWifi99", "MyHomeWifi99"), ("ALGOLIA_ADMIN_KEY=6be0576ff61c053d5f9a3225e2a90f76", "6be0576ff61c053d5f9a3225e2a90f76"),
    ("deploy_key=3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c", "3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c"), ("PGPASSWORD=mountain9 psql -U app", "mountain9"), ("ldapsearch -D cn=admin -w LdapAdm1n -b dc=x", "LdapAdm1n"),
    ("kubectl create secret generic db --from-literal=password=k8sPa55w0rd", "k8sPa55w0rd"), ("X-Auth-Token: gAAAAABk2x9zQWERTY", "gAAAAABk2x9zQWERTY"), ("WEBHOOK_SECRET='whk_93jf8sk2ld0'", "whk_93jf8sk2ld0"),
    ("PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="), ("htpasswd -b .htpasswd alice Al1ceP@ss", "Al1ceP@ss"), ("new Stripe('sk_test_4eC39HqLyjWDarjtT1zdp7dc')", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("basic_auth: admin:Adm1nPass", "Adm1nPass"), ("oauth_token_secret=kd94hf93k423kf44", "kd94hf93k423kf44"), ("smbclient //srv/share -U bob%Sm8Passw", "Sm8Passw"), ("HEROKU_API_KEY: 12345678-90ab-cdef-1234-567890abcdef", "12345678-90ab-cdef-1234-567890abcdef"),
]  # fmt: skip


def test_most_everyday_spellings_are_masked():
    left = [text for text, secret in EVERYDAY if secret in mask(text).text]

    assert len(left) <= len(EVERYDAY) * 4 // 18, left


INVISIBLE = ["\u200b", "\u202e", "\u001b", "\u0085", "\u00ad", "\ufeff", "\u2060", "\u200d\u200c"]


@pytest.mark.parametrize("invisible", INVISIBLE, ids=[f"U+{ord(c[0]):04X}" for c in INVISIBLE])
def test_an_invisible_character_inside_a_token_is_masked_with_it(invisible):
    masked = mask(f"buoy sk-fake-7Yt3Zp{invisible}9Lm2Wx8Rb4Nc6Va1Sd5 end")

    assert masked.text == "buoy [redacted:api-key] end"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n", "\\r\\n", "\n    "])
def test_a_line_break_inside_a_token_does_not_save_its_second_half(line_break):
    masked = mask(f"buoy sk-fake-7Yt3Zp{line_break}9Lm2Wx8Rb4Nc6Va1Sd5 end")

    assert masked.text == "buoy [redacted:api-key] end"


@pytest.mark.parametrize(
    "following", ["The next line says more", "next_line = 3", "export NEXT=1", "FOO2BAR=baz", "user123 came in", "- item 2", "2024-01-15 was a Monday", "README.md changed"]
)
def test_a_token_at_the_end_of_a_line_leaves_the_next_line_alone(following):
    assert mask(f"use sk-fake-7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5\n{following}").text == f"use [redacted:api-key]\n{following}"


@pytest.mark.parametrize("text", ["sk%2Dfake%2D7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5", "sk-fake-7Yt3%5Ap9Lm2Wx8Rb4Nc6Va1Sd5", "sk%252Dfake-7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5", r"sk\u002dfake-7Yt3Zp9Lm2Wx8Rb4Nc6Va1Sd5"])
def test_an_encoded_token_is_masked_whole(text):
    assert mask(f"a {text} b").text == "a [redacted:api-key] b"


def test_five_families_in_one_line_are_five_masks():
    text = (
        "a ya29.FAKE0aBcDeFgHiJkLmNoPqRsTuVwXyZ012345 b ghp_FAKE00000000000000000000000000000000 c AKIAFAKEFAKEFAKE1234 "
        "d xoxb-000000000000-FAKEfakeFAKEfake e eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.ZmFrZXNpZ25hdHVyZQ f keel"
    )

    masked = mask(text)

    assert re.sub(r"\[redacted:[a-z-]+\]", "#", masked.text) == "a # b # c # d # e # f keel"
    assert len(masked.masks) == len(masked.spans) == 5


def test_a_secret_found_by_two_rules_is_one_mask_with_the_telling_label():
    masked = mask("GITHUB_TOKEN=ghp_FAKE00000000000000000000000000000000")

    assert masked.text == "GITHUB_TOKEN=[redacted:github-token]"


def test_labels_that_were_there_before_are_neither_masked_nor_counted():
    text = "password=[redacted:jwt] and token: [redacted:github-token]"

    assert mask(text) == Masked(text)


def test_a_message_that_holds_a_label_is_masked_around_it():
    masked = mask("password=[redacted:jwt]\nAPI_KEY=abc123def456")

    assert masked.text == "password=[redacted:jwt]\nAPI_KEY=[redacted:secret]"
    assert masked.spans == ((32, 44),)


REGISTERED = [
    ("plain", 'Correct horse "42"', 'Correct horse "42"'),
    ("percent-encoded", 'Correct horse "42"', "Correct%20horse%20%2242%22"),
    ("in JSON", 'Correct horse "42"', r"Correct horse \"42\""),
    ("in JSON in JSON", 'Correct horse "42"', r"Correct horse \\\"42\\\""),
    ("with an invisible character", 'Correct horse "42"', 'Correct ho\u200brse "42"'),
    ("with a line break", 'Correct horse "42"', 'Correct ho\nrse "42"'),
    ("beyond ASCII", "Schlüsselwört", "Schl%C3%BCsselw%C3%B6rt"),
    ("escaped in JSON", "Schlüsselwört", r"Schl\u00fcsselw\u00f6rt"),
    ("inside a word", "harbour", "harbourmaster"),
]


@pytest.mark.parametrize(("secret", "written"), [row[1:] for row in REGISTERED], ids=[row[0] for row in REGISTERED])
def test_a_registered_secret_is_masked_however_it_is_written(secret, written):
    masked = mask(f"say {written} now", ["other secret", secret])

    assert masked.text.startswith("say [redacted:registered-secret]")
    assert written not in masked.text
    assert masked.spans[0][0] == 4


def test_the_catalogue_has_a_version():
    assert re.fullmatch(r"[0-9]{4}\.[0-9]{2}-[0-9]+", CATALOGUE_VERSION)


def test_every_label_has_the_one_form():
    labels = {family.label for family in rules.FAMILIES} | {label for label, _ in rules.SHAPES}

    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", label) for label in labels)


# Texts on which a pattern that tries again from every place would take the square of their length.
HOSTILE = {
    "capitals": "A", "letters and digits": "a1B2", "digits": "0", "groups of digits": "1234 ", "dashes": "-", "underscores": "_", "dots": "a.",
    "prefixes": "sk-", "prefixes with digits": "sk-1-", "more prefixes": "ghp_", "key ids": "AKIA", "session ids": "ASIA", "facebook": "EAA", "jwt heads": "eyJ", "jwt parts": "eyJaaaaa.",
    "json pairs": '"k": "v", ', "near service accounts": '"type": "service_accoun_', "begins": "-----BEGIN PRIVATE KEY-----", "ends": "-----END PRIVATE KEY-----\nQUJDREVGR0hJSktM\n",
    "key lines": "QUJDREVGR0hJSktM\n", "near blocks": "-----BEGIN PRIVATE KEY-----" + " " * 200, "addresses": "://", "users": "http://a:b", "assignments": "password=", "spaced assignments": "password: ",
    "open quotes": 'password="', "tokens": "token=", "nested": "password=secret=token=", "told": "key is ", "backslashes": "\\", "escaped quotes": '\\"', "escaped breaks": "\\n", "percents": "%41",
    "percents of percents": "%25", "zero width": "a\u200b", "only zero width": "\u200b", "broken tokens": "aB3dE5\n", "empty lines": "\n", "crlf": "sk-aB3dE5f\r\n", "cookies": "Cookie: a=bbbb; ",
    "bearers": "bearer ", "headers": "Authorization: ", "queries": "?sig=&sig=", "commands": "mysql -p", "flags": " -p", "options": " --pass", "hooks": "hook/", "labels": "[redacted:x]",
    "near labels": "[redacted:", "pairs": "'password', '", "logins": "machine login password ", "pipes": "echo chpasswd ", "values": "token, value ", "sql": "identified by '", "escapes": "\x1b[0m",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w+/", "pointers": "pat salt key " , "secrets": "ghp_FAKE00000000000000000000000000000000 ",
}  # fmt: skip
SHORT, SHORT_S = 16_384, 0.004  # below this time noise decides


def seconds(text: str, rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        mask(text)
        best = min(best, time.process_time() - start)
    return best


def growth(unit: str) -> tuple[float, float]:
    """How much longer twice and four times the text takes; what is below noise counts as noise."""
    once, twice, four = (max(SHORT_S, seconds(unit * (SHORT * times // len(unit)))) for times in (1, 2, 4))
    return twice / once, four / once


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=list(HOSTILE))
def test_time_grows_with_the_length_and_not_with_its_square(unit):
    """The square would be 4 and 16; a busy machine gets five tries."""
    assert any(twice < 3.5 and four < 8 for twice, four in (growth(unit) for _ in range(5)))


@pytest.mark.parametrize("text", ["A" * 262_144, "{" + '"k": "v", ' * 20_000 + '"type": "service_accoun_'], ids=["capitals", "near service account"])
def test_a_huge_tool_result_takes_a_moment(text):
    assert seconds(text) < 1
    assert mask(text) == Masked(text)
