import java.io.File;
import java.nio.ByteBuffer;
import org.rocksdb.*;

/** Writes table files of Flink's RocksDB into a folder: rounds of puts, merges and deletes, with and without a partitioned index. */
public class Tables {
    public static void main(String[] args) throws Exception {
        RocksDB.loadLibrary();
        for (boolean partitioned : new boolean[] {false, true}) {
            File folder = new File(args[0], partitioned ? "partitioned" : "plain");
            folder.mkdirs();
            BlockBasedTableConfig table = new BlockBasedTableConfig();
            if (partitioned) {
                table.setIndexType(IndexType.kTwoLevelIndexSearch).setPartitionFilters(true).setFilterPolicy(new BloomFilter()).setMetadataBlockSize(128);
            }
            Options options = new Options().setCreateIfMissing(true).setMergeOperatorName("stringappendtest")
                    .setTableFormatConfig(table).setDisableAutoCompactions(true).setCompressionType(CompressionType.SNAPPY_COMPRESSION);
            WriteOptions write = new WriteOptions().setDisableWAL(true);
            try (RocksDB database = RocksDB.open(options, folder.getPath())) {
                for (int round = 0; round < 4; round++) {
                    for (int number = 0; number < 1500; number++) {
                        byte[] key = ByteBuffer.allocate(5).put((byte) (number % 128)).putInt(number).array();
                        switch ((number * 7 + round * 13) % 5) {
                            case 0: database.put(write, key, ("p" + round).getBytes()); break;
                            case 1: database.merge(write, key, ("m" + round).getBytes()); break;
                            case 2: database.delete(write, key); break;
                            default:
                        }
                    }
                    database.flush(new FlushOptions().setWaitForFlush(true));
                    if (round == 1) database.compactRange();
                }
            }
            for (File file : folder.listFiles()) if (!file.getName().endsWith(".sst")) file.delete();
        }
    }
}
