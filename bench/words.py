"""The words that the corpus is made of: written here, or made of syllables by a seed. Commonest first, so that rank gives frequency."""

import random


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ENGLISH = _words(
    """the and to of a in is that for it on we this with be not as was you have are but from if can by at an or so will all when has
    then there which one do what after no been just would should only how they more into now need could out up does get use where
    them its any other run time same still first before their some new make see here also every line test file two than because
    over again like work case back both value down check while call each between change read write find error may without next
    already must too last much name well right old most path under key since list open given until code done second keep text
    page long good part once state step word set hour day week index search query table row column server client answer request
    queue job worker lock lease branch leaf event message session agent token cursor limit filter order score match prefix phrase
    index cache memory disk thread process signal timeout retry failure success warning metric chart label field schema record
    page button window screen colour image model prompt reply tool result command output input folder config setting default
    option release version build deploy rollback backup restore import export parse render escape encode decode compress split
    merge rebase commit review comment issue ticket customer invoice account payment order shipping address country harbour ferry
    bridge garden kitchen recipe flour butter concert poem violin lamp window river mountain winter summer monday friday morning
    evening doctor teacher student exam lecture paper"""
)
SYLLABLES = _words(
    """ka lo mi ren tas vel dor fin gal hu jin kor lum nar os pel qui ras sil tor un vex wil yor zan bre cla dri fle gra pri sta thu
    ber cen del fam gor han jol kel mon nev ond par res sol tam ur val wen"""
)

HAN = _words(
    """的 我们 是 在 这个 了 需要 数据库 搜索 文件 错误 可以 会话 消息 如果 服务器 没有 测试 函数 为什么 检查 部署 缓存 请求 用户 索引 结果
    渡轮 时刻表 码头 天气 线程 内存 超时 重试 日志 版本 配置 权限 分支 提交 回滚 备份 恢复 队列 任务 调度 事件 监控 排序 过滤 分页 编码
    解码 修复 原因 方案 花园 厨房 食谱 音乐会 桥梁 河流 冬天 医生 老师 考试 论文 账单 付款 地址 山脉 早晨 星期五 窗户 颜色 图像 模型 提示
    回答 工具 命令 输出 文件夹 设置 发布"""
)
HAN_SINGLE = "人大小上下来去说看年月日水火木金土山石田天地风云雨雪花草鸟鱼马牛车船路门手足目口心力东西南北春夏秋冬红蓝白黑高低长短新旧多少"
KANA = _words(
    """この 設定 は エラー を 検索 して ください ファイル が メッセージ と サーバー で 確認 しました セッション から テスト まで キャッシュ
    について データベース の 更新 ログ スレッド 失敗 フェリー 時刻表 じゃがいも 天気 ので ありません 索引 再試行 庭 台所 音楽会 金曜日 窓
    山 医者 支払い 住所"""
)
HANGUL = _words(
    """이 설정 파일을 오류가 검색 세션 메시지를 서버에서 테스트 했습니다 그리고 확인해 주세요 캐시 때문에 데이터베이스 색인 다시 실행 결과는
    로그 여객선 시간표 날씨 정원 부엌 음악회 금요일 창문 산 의사 결제 주소 백업 복원 대기열 작업"""
)
THAI = _words(
    """ที่ และ ไม่ ใน ได้ ไฟล์ ข้อผิดพลาด ค้นหา ข้อความ เซิร์ฟเวอร์ ทดสอบ ฐานข้อมูล แคช คำขอ ผู้ใช้ ล้มเหลว สำเร็จ บันทึก ตรวจสอบ
    แล้ว เพราะ เรือข้ามฟาก ตารางเวลา อากาศ สวน ครัว คอนเสิร์ต วันศุกร์ หน้าต่าง ภูเขา หมอ ชำระเงิน ที่อยู่ สำรอง กู้คืน คิว งาน"""
)
CYRILLIC = _words(
    """и в не на что это мы файл ошибка поиск сервер проверить сообщение сеанс запрос ответ база данных индекс кэш память поток
    очередь задача паром расписание погода сад кухня концерт пятница окно гора врач платёж адрес копия"""
)
ACCENTED = _words(
    """não está configuração búsqueda índice mañana horário verão référence déployé größe straße prüfung łódź źródło žluťoučký
    façade naïve coração sesión über schließen"""
)
EMOJI = _words("🚀 ✅ 🐛 🔥 👍 🎻 ⛴️ 👩‍💻")


def vocabulary(rng: random.Random, size: int = 24_000) -> list[str]:
    """Latin words, commonest first: the English ones above, then made ones."""
    words = dict.fromkeys(ENGLISH)
    while len(words) < size:
        words["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))] = None
    return list(words)


def name_of(rng: random.Random) -> str:
    """A word that one session alone has: the rare terms of the corpus."""
    return "".join(rng.choice("bcdfghjklmnprstvz") + rng.choice("aeiou") for _ in range(4)) + str(rng.randint(10, 99))
