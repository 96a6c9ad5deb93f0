/* Messages as one SARIF 2.1.0 document, for editors and other tools. Columns count characters; ends are exclusive. */
#include "diag_message.h"

#include <ctype.h>
#include <string.h>

#include <jansson.h>

#include "utf8.h"
#include "version.h"

/* What cannot be UTF-8 in a path or in what a file holds is replaced: JSON has no other text. */
static json_t *text_json(struct arena *arena, const char *text)
{
    VEC(char) sound = {0};
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        uint32_t character;
        used = utf8_decode(text, left, &character);
        const char *from = used ? text : "\xef\xbf\xbd";
        for (size_t i = 0; i < (used ? used : 3); i++)
            VEC_PUSH(arena, &sound, from[i]);
        used = used ? used : 1;
    }
    return json_stringn(sound.count ? sound.at : "", sound.count);
}

static json_t *message_json(struct arena *arena, const char *text)
{
    return json_pack("{s:o}", "text", text_json(arena, text));
}

/* A path as a URI: absolute ones with their scheme, relative ones as they are. */
static const char *path_uri(struct arena *arena, const char *path)
{
    static const char good[] = "-._~/!$&'()*+,;=@";
    const char *uri = *path == '/' ? "file://" : "";
    for (; *path; path++) {
        const unsigned char byte = (unsigned char)*path;
        uri = arena_format(arena, isalnum(byte) || strchr(good, byte) ? "%s%c" : "%s%%%02X", uri, byte);
    }
    return uri;
}

/* ---- Places ---- */

/* 1-based, in characters; a byte order mark is none. */
static int character_column(const struct source *source, uint32_t offset)
{
    int line, column;
    source_position(source, offset, &line, &column);
    const size_t end = offset < source->length ? offset : source->length;
    size_t at = end - (size_t)(column - 1);
    if (at == 0 && end >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3))
        at = 3;
    int count = 1;
    for (; at < end; at++)
        count += ((unsigned char)source->text[at] & 0xc0) != 0x80;
    return count;
}

static json_t *region_json(const struct source *source, struct span span)
{
    int line, end_line, column;
    source_position(source, span.begin, &line, &column);
    source_position(source, span.end, &end_line, &column);
    return json_pack("{s:i, s:i, s:i, s:i}", "startLine", line, "startColumn", character_column(source, span.begin),
                     "endLine", end_line, "endColumn", character_column(source, span.end));
}

static json_t *artifact_json(struct arena *arena, const char *path)
{
    return json_pack("{s:s}", "uri", path_uri(arena, path));
}

static json_t *location_json(const struct diags *diags, struct span span)
{
    return json_pack("{s:{s:o, s:o}}", "physicalLocation",
                     "artifactLocation", artifact_json(diags->arena, diags->source->path),
                     "region", region_json(diags->source, span));
}

/* A line of another file. */
static json_t *line_json(const struct diags *diags, const char *path, size_t line)
{
    return json_pack("{s:{s:o, s:{s:I}}}", "physicalLocation", "artifactLocation", artifact_json(diags->arena, path),
                     "region", "startLine", (json_int_t)line);
}

/* ---- Results ---- */

static json_t *notes_json(const struct diags *diags, const struct message *message)
{
    json_t *notes = json_array();
    for (size_t i = 0; i < message->notes.count; i++) {
        json_t *note = location_json(diags, message->notes.at[i].span);
        json_object_set_new(note, "id", json_integer((json_int_t)i + 1));
        json_object_set_new(note, "message", message_json(diags->arena, message->notes.at[i].text));
        json_array_append_new(notes, note);
    }
    return notes;
}

/* All changes of a message are one fix: they belong together. */
static json_t *fixes_json(const struct diags *diags, const struct message *message)
{
    json_t *replacements = json_array();
    for (size_t i = 0; i < message->fixes.count; i++) {
        const struct fix *fix = &message->fixes.at[i];
        json_array_append_new(replacements, json_pack("{s:o, s:o}", "deletedRegion",
                                                      region_json(diags->source, fix->span), "insertedContent",
                                                      message_json(diags->arena, fix->text)));
    }
    return json_pack("[{s:[{s:o, s:o}]}]", "artifactChanges",
                     "artifactLocation", artifact_json(diags->arena, diags->source->path),
                     "replacements", replacements);
}

static const char *rule_of(const struct message *message)
{
    return message->slug ? message->slug : message->cause;
}

static json_t *result_json(const struct diags *diags, const struct message *message)
{
    static const char *const levels[] = {"error", "warning", "note"};
    json_t *result = json_pack("{s:s, s:s, s:o}", "ruleId", rule_of(message), "level", levels[message->severity],
                               "message", message_json(diags->arena, message->text));
    if (message->placed)
        json_object_set_new(result, "locations", json_pack("[o]", location_json(diags, message->span)));
    else if (message->path)
        json_object_set_new(result, "locations", json_pack("[o]", line_json(diags, message->path, message->line)));
    if (message->notes.count)
        json_object_set_new(result, "relatedLocations", notes_json(diags, message));
    if (message->fixes.count)
        json_object_set_new(result, "fixes", fixes_json(diags, message));
    return result;
}

/* ---- The document ---- */

static bool has_rule(const json_t *rules, const char *id)
{
    size_t i;
    const json_t *rule;
    json_array_foreach(rules, i, rule) {
        if (!strcmp(json_string_value(json_object_get(rule, "id")), id))
            return true;
    }
    return false;
}

static void add_results(const struct diags *diags, json_t *results, json_t *rules)
{
    const struct diag_options *options = diags->options;
    size_t seen[3] = {0, 0, 0};
    for (size_t i = 0; i < diags->messages.count; i++) {
        const struct message *message = &diags->messages.at[i];
        if (options->limited && options->limit && seen[message->severity]++ >= options->limit)
            continue;
        json_array_append_new(results, result_json(diags, message));
        if (!has_rule(rules, rule_of(message)))
            json_array_append_new(rules, json_pack("{s:s}", "id", rule_of(message)));
    }
}

static const char schema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/* JSON has no need to spell out all that could steer a terminal; this does, in the strings, where alone it can be. */
static int print_piece(const char *text, size_t left, void *to)
{
    for (size_t used; left; text += used, left -= used) {
        uint32_t character;
        used = utf8_decode(text, left, &character);
        if (!used || *text == '\n' || utf8_cells(character) >= 0)
            fwrite(text, 1, used = used ? used : 1, to);
        else if (character < 0x10000)
            fprintf(to, "\\u%04x", (unsigned)character);
        else
            fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (character >> 10)),
                    (unsigned)(0xdc00 | (character & 0x3ff)));
    }
    return 0;
}

void diags_print_sarif(const struct diags *diags, FILE *to, enum exit_status status)
{
    json_t *results = json_array(), *rules = json_array();
    add_results(diags, results, rules);
    json_t *run = json_pack("{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:i}], s:s, s:o}",
                            "tool", "driver", "name", "mlpc", "version", MLPC_VERSION, "rules", rules,
                            "invocations", "executionSuccessful", status == EXIT_DONE, "exitCode", (int)status,
                            "columnKind", "unicodeCodePoints", "results", results);
    json_t *log = json_pack("{s:s, s:s, s:[o]}", "$schema", schema, "version", "2.1.0", "runs", run);
    if (log)
        json_dump_callback(log, print_piece, to, JSON_INDENT(2));
    fputs(log ? "\n" : "mlpc: error: out of memory\n", to);
    json_decref(log);
}
