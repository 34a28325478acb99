import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The workloads of workloads.py in Kafka Streams.
 *
 * <p>Arguments: a file with the properties of Kafka Streams, the workload, the source, target and reject topics, and a
 * file to create when all partitions are assigned and restored.
 */
public final class KafkaStreamsJob {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> KINDS = Set.of("request", "impression", "click", "complete");
    private static final String[] FIELDS = {"id", "seq", "kind", "ts", "amount"};

    /** A record, its raw text, and the reason why it is rejected. The reason of a valid record is null. */
    private record Decoded(String raw, JsonNode fields, String reason) {}

    private KafkaStreamsJob() {}

    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        try (var file = Files.newBufferedReader(Path.of(arguments[0]))) {
            settings.load(file);
        }
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, Decoded> decoded = builder
                .stream(arguments[2], Consumed.with(Serdes.String(), Serdes.String()))
                .mapValues(KafkaStreamsJob::decode);
        if (arguments[1].equals("stateful")) {
            correlate(decoded, arguments[3]);
        } else {
            route(decoded, arguments[3], arguments[4]);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                touch(Path.of(arguments[5]));
            }
        });
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    private static void route(KStream<String, Decoded> decoded, String target, String rejected) {
        var strings = Produced.with(Serdes.String(), Serdes.String());
        decoded.filter((key, record) -> record.reason == null)
                .mapValues(record -> write(project(record.fields)))
                .to(target, strings);
        decoded.filterNot((key, record) -> record.reason == null)
                .mapValues(record -> write(JSON.createObjectNode().put("reason", record.reason).put("raw", record.raw)))
                .to(rejected, strings);
    }

    private static void correlate(KStream<String, Decoded> decoded, String target) {
        // The key of a record is its transaction, so no repartitioning is needed.
        decoded.filter((key, record) -> record.reason == null)
                .mapValues(Decoded::fields)
                .groupByKey(Grouped.with(Serdes.String(), json()))
                .aggregate(
                        JSON::createObjectNode,
                        (id, fields, state) -> add(id, fields, state),
                        Materialized.<String, ObjectNode, KeyValueStore<Bytes, byte[]>>as("transactions")
                                .withKeySerde(Serdes.String())
                                .withValueSerde(json()))
                .toStream()
                .to(target, Produced.with(Serdes.String(), json()));
    }

    private static Decoded decode(String raw) {
        try {
            JsonNode fields = JSON.readTree(raw);
            if (!fields.hasNonNull("id")) {
                return new Decoded(raw, fields, "missing:id");
            }
            return new Decoded(raw, fields, KINDS.contains(fields.path("kind").asText()) ? null : "unknown_kind");
        } catch (JsonProcessingException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static ObjectNode project(JsonNode fields) {
        ObjectNode projected = JSON.createObjectNode();
        for (String field : FIELDS) {
            projected.set(field, fields.get(field));
        }
        return projected;
    }

    private static ObjectNode add(String id, JsonNode fields, ObjectNode state) {
        String kind = fields.get("kind").asText();
        state.set("seq", fields.get("seq"));
        state.put("id", id);
        if (kind.equals("request") && !state.has("request_ts")) {
            state.set("request_ts", fields.get("ts"));
        }
        state.put("impressions", state.path("impressions").asInt() + (kind.equals("impression") ? 1 : 0));
        state.withArray("seqs").add(fields.get("seq"));
        state.set("last_ts", fields.get("ts"));
        return state;
    }

    private static <T extends JsonNode> Serde<T> json() {
        return Serdes.serdeFrom((topic, node) -> node == null ? null : bytes(node), (topic, bytes) -> read(bytes));
    }

    @SuppressWarnings("unchecked")
    private static <T extends JsonNode> T read(byte[] bytes) {
        try {
            return bytes == null ? null : (T) JSON.readTree(bytes);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static byte[] bytes(JsonNode node) {
        try {
            return JSON.writeValueAsBytes(node);
        } catch (JsonProcessingException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String write(JsonNode node) {
        return node.toString();
    }

    private static void touch(Path file) {
        try {
            Files.createFile(file);
        } catch (FileAlreadyExistsException running) {
            // The file already exists from before a rebalance.
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
