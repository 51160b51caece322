// Foundation has all of ICU's data of languages and regions in a static link, 34 MB, and the tool
// formats nothing for a language. So this takes the place of the data: an archive of it with no
// entries, as ICU's own build has one ("stubdata").
// <https://unicode-org.github.io/icu/userguide/icu_data/#data-library>
//
// The name has ICU's version in it. A Foundation with another one brings its data again; nothing else
// changes.

#include <stdint.h>

const struct {
    uint16_t header_size;
    uint8_t magic[2];
    uint16_t info_size, reserved;
    uint8_t is_big_endian, character_set, character_size, reserved_too;
    uint8_t format[4], format_version[4], data_version[4];
    uint8_t padding[8];
    uint32_t count, reserved_entry[5];
} icudt76_dat __attribute__((aligned(16))) = {
    .header_size = 32,
    .magic = {0xda, 0x27},
    .info_size = 20,
    .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .character_size = 2,
    .format = "CmnD",
    .format_version = {1},
};
