"""The words of the readers' pages, all of them, in every language. Data alone: language.py chooses and fills in.

A message is one text, or two where it counts something: (for one, for any other number). {name} is filled in; nothing here is markup.
The English of PROBLEMS and DETAILS stands in errors.py.
"""

Text = str | tuple[str, str]

LANGUAGES = ("en", "pt")  # the first serves who asks for none of them

MESSAGES: dict[str, dict[str, Text]] = {
    # every page
    "skip": {"en": "Skip to the content", "pt": "Ir para o conteúdo"},
    "main": {"en": "Main", "pt": "Principal"},
    "operate": {"en": "Operate", "pt": "Operação"},
    "search": {"en": "Search", "pt": "Pesquisar"},
    "reference": {"en": "Reference", "pt": "Referência"},
    "sign_out": {"en": "Sign out", "pt": "Sair"},
    # sign-in and errors
    "sign_in": {"en": "Sign in", "pt": "Entrar"},
    "paste_token": {"en": "Paste a token that {command} printed.", "pt": "Cole um token que {command} imprimiu."},
    "token": {"en": "Token", "pt": "Token"},
    "wrong_token": {
        "en": "That token is not known, or it has expired or was revoked.",
        "pt": "Esse token não é conhecido, expirou ou foi revogado.",
    },
    "status": {"en": "Status {status}.", "pt": "Estado {status}."},
    "to_search": {"en": "To the search", "pt": "Ir para a pesquisa"},
    "to_operate": {"en": "To the operators’ page", "pt": "Ir para a página de operação"},
    # the box and its filters
    "search_sessions": {"en": "Search past sessions", "pt": "Pesquisar sessões anteriores"},
    "words_to_find": {"en": "Words to find", "pt": "Palavras a encontrar"},
    "box_hint": {"en": "words, \"a phrase\", word*, OR, NOT", "pt": "palavras, \"uma frase\", palavra*, OR, NOT"},
    "in_whose_name": {"en": "In whose name", "pt": "Em nome de quem"},
    "caller_agent": {"en": "Caller’s agent", "pt": "Agente de quem pede"},
    "caller_session": {"en": "Caller’s session key", "pt": "Chave da sessão de quem pede"},
    "sandboxed": {"en": "Sandboxed", "pt": "Em área restrita"},
    "narrow": {"en": "Narrow the search", "pt": "Restringir a pesquisa"},
    "agent": {"en": "Agent", "pt": "Agente"},
    "session_key": {"en": "Session key", "pt": "Chave da sessão"},
    "said_by": {"en": "Said by", "pt": "Dito por"},
    "anybody": {"en": "anybody", "pt": "qualquer um"},
    "role.user": {"en": "User", "pt": "Pessoa"},
    "role.assistant": {"en": "Assistant", "pt": "Assistente"},
    "from": {"en": "From (UTC)", "pt": "De (UTC)"},
    "until": {"en": "Until, that day included", "pt": "Até esse dia, inclusive"},
    "words": {"en": "Words", "pt": "Palavras"},
    "words.auto": {"en": "all, else any", "pt": "todas, ou então algumas"},
    "words.all": {"en": "all of them", "pt": "todas"},
    "words.any": {"en": "any of them", "pt": "qualquer uma"},
    "order": {"en": "Order", "pt": "Ordem"},
    "order.relevance": {"en": "best first", "pt": "melhores primeiro"},
    "order.recent": {"en": "newest first", "pt": "mais recentes primeiro"},
    "show": {"en": "Show", "pt": "Mostrar"},
    "show.session": {"en": "best of each session", "pt": "o melhor de cada sessão"},
    "show.message": {"en": "every message", "pt": "todas as mensagens"},
    "scope": {"en": "Scope", "pt": "Alcance"},
    "scope.widest": {"en": "all that is visible", "pt": "tudo o que é visível"},
    "scope.self": {"en": "own session", "pt": "a própria sessão"},
    "scope.tree": {"en": "own and spawned", "pt": "a própria e as que criou"},
    "scope.agent": {"en": "own agent", "pt": "o próprio agente"},
    "scope.all": {"en": "all agents", "pt": "todos os agentes"},
    "clear_filters": {"en": "Take all filters out", "pt": "Retirar todos os filtros"},
    # what was found
    "cannot_search": {"en": "This search cannot be made.", "pt": "Esta pesquisa não pode ser feita."},
    "choose_caller": {
        "en": "Choose in whose name to search: an agent and the key of one of its sessions.",
        "pt": "Escolha em nome de quem pesquisar: um agente e a chave de uma das suas sessões.",
    },
    "indexing": {
        "en": (
            "{count} session is still being indexed; what is found below may be incomplete.",
            "{count} sessions are still being indexed; what is found below may be incomplete.",
        ),
        "pt": (
            "{count} sessão ainda está a ser indexada; o resultado abaixo pode estar incompleto.",
            "{count} sessões ainda estão a ser indexadas; o resultado abaixo pode estar incompleto.",
        ),
    },
    "indexing_many": {
        "en": "At least {number} sessions are still being indexed; what is found below may be incomplete.",
        "pt": "Pelo menos {number} sessões ainda estão a ser indexadas; o resultado abaixo pode estar incompleto.",
    },
    "parked": {
        "en": (
            "{count} session could not be indexed and needs an operator; what is found below may be incomplete.",
            "{count} sessions could not be indexed and need an operator; what is found below may be incomplete.",
        ),
        "pt": (
            "{count} sessão não pôde ser indexada e precisa de um operador; o resultado abaixo pode estar incompleto.",
            "{count} sessões não puderam ser indexadas e precisam de um operador; o resultado abaixo pode estar incompleto.",
        ),
    },
    "relaxed": {
        "en": "No message has every word; these have some of them.",
        "pt": "Nenhuma mensagem tem todas as palavras; estas têm algumas.",
    },
    "nothing": {"en": "Nothing found.", "pt": "Nada encontrado."},
    "nothing_yet": {"en": "Nothing found yet.", "pt": "Ainda nada encontrado."},
    "found_sessions": {"en": ("{count} session", "{count} sessions"), "pt": ("{count} sessão", "{count} sessões")},
    "found_messages": {"en": ("{count} message", "{count} messages"), "pt": ("{count} mensagem", "{count} mensagens")},
    "and_more": {"en": "and more", "pt": "e mais"},
    "understood": {"en": "understood as {query}", "pt": "entendido como {query}"},
    "further": {
        "en": ("{count} more match in this session", "{count} more matches in this session"),
        "pt": ("mais {count} ocorrência nesta sessão", "mais {count} ocorrências nesta sessão"),
    },
    "further_many": {"en": "more than {number} matches in this session", "pt": "mais de {number} ocorrências nesta sessão"},
    "more": {"en": "More hits", "pt": "Mais resultados"},
    "masked": {"en": ("{count} secret masked", "{count} secrets masked"), "pt": ("{count} segredo ocultado", "{count} segredos ocultados")},
    "mask": {"en": "A secret that is not shown", "pt": "Um segredo que não é mostrado"},
    "recent_sessions": {"en": "Recent sessions", "pt": "Sessões recentes"},
    "no_sessions": {"en": "No session is visible here yet.", "pt": "Ainda não há nenhuma sessão visível aqui."},
    "no_messages": {"en": "no messages", "pt": "sem mensagens"},
    "being_indexed": {"en": "being indexed", "pt": "a ser indexada"},
    "whole_now": {"en": "Everything is indexed now.", "pt": "Agora está tudo indexado."},
    "show_again": {"en": "Search again", "pt": "Pesquisar outra vez"},
    "no_answer": {
        "en": "The search got no answer. What stands below is older.",
        "pt": "A pesquisa não teve resposta. O que está abaixo é mais antigo.",
    },
    # a conversation
    "transcript": {"en": "Transcript {id}", "pt": "Transcrição {id}"},
    "utc": {"en": "times in UTC", "pt": "horas em UTC"},
    "back_to_hits": {"en": "Back to the hits", "pt": "Voltar aos resultados"},
    "search_here": {"en": "Search in this session", "pt": "Pesquisar nesta sessão"},
    "show_tools": {"en": "Show tool calls and results", "pt": "Mostrar chamadas e resultados de ferramentas"},
    "hide_tools": {"en": "Hide tool calls and results", "pt": "Ocultar chamadas e resultados de ferramentas"},
    "older": {"en": "Older messages", "pt": "Mensagens mais antigas"},
    "newer": {"en": "Newer messages", "pt": "Mensagens mais recentes"},
    "call": {"en": "call", "pt": "chamada"},
    "result": {"en": "result", "pt": "resultado"},
    "omitted": {
        "en": ("{count} part left out (reasoning, images)", "{count} parts left out (reasoning, images)"),
        "pt": ("{count} parte omitida (raciocínio, imagens)", "{count} partes omitidas (raciocínio, imagens)"),
    },
    "shortened": {"en": "shortened", "pt": "encurtada"},
    "this_hit": {"en": "this is the hit", "pt": "este é o resultado"},
    "not_on_branch": {
        "en": "This message is no longer on the session’s active branch.",
        "pt": "Esta mensagem já não está no ramo ativo da sessão.",
    },
    "empty_session": {"en": "No messages.", "pt": "Sem mensagens."},
    # the keyboard
    "keyboard": {"en": "Keyboard", "pt": "Teclado"},
    "key.box": {"en": "go to the search box", "pt": "ir para a caixa de pesquisa"},
    "key.move": {"en": "next, previous", "pt": "seguinte, anterior"},
    "key.open": {"en": "open the conversation", "pt": "abrir a conversa"},
    "key.back": {"en": "back to the hits, or to the box", "pt": "voltar aos resultados, ou à caixa"},
    "key.older": {"en": "older messages, newer messages", "pt": "mensagens mais antigas, mais recentes"},
    "key.tools": {"en": "show or hide tools", "pt": "mostrar ou ocultar ferramentas"},
    "key.help": {"en": "this list", "pt": "esta lista"},
    "single_keys": {"en": "Single keys act", "pt": "Teclas simples ativas"},
    "close": {"en": "Close", "pt": "Fechar"},
    "or": {"en": "or", "pt": "ou"},
}

MONTHS = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "pt": ("jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."),
}
DATES = {"en": "{day} {month} {year}, {time}", "pt": "{day} de {month} de {year}, {time}"}
THOUSANDS = {"en": ",", "pt": "."}

PROBLEMS: dict[str, dict[str, str]] = {
    "pt": {
        "bad-request": "O pedido não corresponde ao esquema",
        "unauthorised": "É preciso uma credencial",
        "forbidden": "Esta credencial não permite isso",
        "not-found": "Não encontrado",
        "method-not-allowed": "Este caminho não aceita esse método",
        "conflict": "O pedido contradiz o que está guardado",
        "too-large": "O corpo é demasiado grande",
        "address-too-long": "O endereço é demasiado longo",
        "not-acceptable": "A resposta seria de um tipo que o pedido não aceita",
        "not-json": "O corpo tem de ser JSON",
        "wrong-host": "Este nome não é servido aqui",
        "bad-value": "Um valor não pode ser usado",
        "too-many-requests": "Demasiados pedidos",
        "headers-too-large": "Os cabeçalhos são demasiado grandes",
        "internal": "Algo correu mal aqui",
        "unavailable": "Os dados não estão disponíveis agora",
        "disk-full": "O disco está cheio",
        "bad-query": "Esta pesquisa não pode ser feita",
        "bad-cursor": "O cursor não pertence a este pedido",
    },
}
DETAILS: dict[str, dict[int, str]] = {
    "pt": {
        404: "Não há nada com esse nome, ou nada que quem pede possa ver.",
        405: "Os métodos de cada caminho estão em /openapi.json.",
        413: "Um corpo tem no máximo 4.194.304 bytes (4 MiB).",
        414: "Um endereço tem no máximo 8.190 bytes.",
        500: "O erro foi registado com o número de pedido desta resposta.",
        503: "A base de dados não pode ser lida nem escrita agora; nada foi alterado. Tente outra vez.",
        507: "Não há espaço para guardar isto; nada foi alterado.",
    },
}
